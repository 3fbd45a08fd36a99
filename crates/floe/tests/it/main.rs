//! The library through its public face.
