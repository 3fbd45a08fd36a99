use super::*;

#[test]
fn twitter_fields() {
    let layout = Layout::TWITTER;
    assert_eq!(layout.to_string().parse::<Layout>(), Ok(layout));
}
