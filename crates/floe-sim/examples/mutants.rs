use floe::mutation::{Mutation, with};
use floe_sim::history::History;
use floe_sim::run::{Entrant, Mode};
use floe_sim::scenario::{Class, Scenario};
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let only: Vec<String> = std::env::args().skip(1).collect();
    let floe = Entrant::named("floe").unwrap();
    for &m in Mutation::ALL {
        if !only.is_empty() && !only.iter().any(|o| m.name() == o) {
            continue;
        }
        let started = std::time::Instant::now();
        let mut found = None;
        for seed in 0..1000u64 {
            let classes = if seed % 4 == 3 { Class::ALL } else { Class::CONTRACT };
            let scenario = Scenario::new(seed, 5, 60, classes, false);
            let r = std::panic::catch_unwind(|| {
                let mut h = History::default();
                with(Some(m), || floe.run(&scenario, &mut h, Mode { noting: false, until_wrong: true }));
                h.violations.first().cloned()
            });
            match r {
                Ok(None) => {}
                Ok(Some(v)) => {
                    found = Some((seed, format!("{:?} {}", v.wrong, v.words)));
                    break;
                }
                Err(e) => {
                    found = Some((
                        seed,
                        format!("panic {}", e.downcast_ref::<String>().cloned().unwrap_or_default()),
                    ));
                    break;
                }
            }
        }
        println!(
            "{:32} {:6.2}s {:?}",
            m.name(),
            started.elapsed().as_secs_f64(),
            found.map(|(s, w)| (s, w.chars().take(160).collect::<String>()))
        );
    }
}
