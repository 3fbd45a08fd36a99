//! The layouts of the systems that floe replaces or reads.

use super::{Layout, Width};
use crate::time::UnixMillis;

/// A layout with a name.
#[derive(Clone, Debug)]
pub struct Preset {
    /// What configuration files and commands call it.
    pub name: &'static str,
    /// The layout.
    pub layout: Layout,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// Where its numbers were read.
    pub source: &'static str,
}

/// All presets.
pub static PRESETS: &[Preset] = &[Preset {
    name: "twitter",
    layout: Layout::TWITTER,
    about: "Twitter Snowflake of 2010; floe's default",
    source: "https://github.com/twitter-archive/snowflake/tree/snowflake-2010",
}];

impl Layout {
    /// Twitter Snowflake.
    pub const TWITTER: Self = Self::assemble(
        &[("time", 41), ("datacenter", 5), ("worker", 5), ("sequence", 12)],
        1,
        UnixMillis::new(1_288_834_974_657),
        Width::Narrow,
    );

    /// The preset of this name.
    pub fn preset(name: &str) -> Option<Self> {
        PRESETS.iter().find(|preset| preset.name == name).map(|preset| preset.layout.clone())
    }
}
