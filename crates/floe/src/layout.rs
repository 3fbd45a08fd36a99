//! Layouts.

/// A layout.
#[derive(Debug)]
pub struct Layout {}
