//! Twitter's `Snowflake` service, called by the two Python libraries.

use floe_wire::thrift::{self, Decoder, Exception, Limits};

use crate::transcript::turns;

#[test]
fn sessions_of_real_clients_are_read_and_answered_byte_for_byte() {
    let mut replies = 0;
    for text in [
        include_str!("transcripts/thrift/thrift-framed-plain.txt"),
        include_str!("transcripts/thrift/thrift-framed-strict.txt"),
        include_str!("transcripts/thrift/thrift-unframed-plain.txt"),
        include_str!("transcripts/thrift/thrift-unframed-strict.txt"),
        include_str!("transcripts/thrift/thriftpy2-framed.txt"),
        include_str!("transcripts/thrift/thriftpy2-unframed.txt"),
    ] {
        let mut decoder = Decoder::new(Limits::default());
        for turn in turns(text) {
            let (request, consumed) = decoder.decode(&turn.sent).unwrap().unwrap();
            assert_eq!(consumed, turn.sent.len());
            let name = str::from_utf8(request.header.name).unwrap();
            let agent = request.arguments.unwrap().string(1).map(|agent| str::from_utf8(agent).unwrap());
            let shown = format!("{name} {} {}", request.header.sequence, agent.unwrap_or_default());
            assert_eq!(turn.requests, [shown.trim_end()]);

            let mut reply = Vec::new();
            match name {
                "get_id" => thrift::reply_i64(&mut reply, &request.header, 1_541_815_603_606_036_480),
                "get_worker_id" => thrift::reply_i64(&mut reply, &request.header, 3),
                "get_timestamp" => thrift::reply_i64(&mut reply, &request.header, 1_288_834_974_657),
                "get_datacenter_id" => thrift::reply_i64(&mut reply, &request.header, 1),
                _ => thrift::exception(&mut reply, &request.header, Exception::UnknownMethod, ""),
            }
            assert_eq!(reply, turn.answered, "{name}");
            replies += 1;
        }
    }
    assert_eq!(replies, 4 * 5 + 2 * 4);
}
