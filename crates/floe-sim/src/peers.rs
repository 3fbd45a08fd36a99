//! Published ID systems as models: what each promises, and its logic with its own constants, read in its source.

#[cfg(test)]
mod by_hand;
pub mod flickr;
pub mod leaf_segment;
pub mod redis_incr;
pub mod tinyid;
