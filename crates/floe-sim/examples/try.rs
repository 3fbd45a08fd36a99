use floe_sim::history::History;
use floe_sim::scenario::{Class, Scenario};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let from: u64 = args[1].parse().unwrap();
    let to: u64 = args[2].parse().unwrap();
    let classes: Vec<Class> = match args.get(3).map(String::as_str) {
        None | Some("contract") => Class::CONTRACT.to_vec(),
        Some("all") => Class::ALL.to_vec(),
        Some(list) => {
            list.split(',').filter(|w| !w.is_empty() && *w != "none").map(|w| w.parse().unwrap()).collect()
        }
    };
    let mut history = History::default();
    let started = std::time::Instant::now();
    let (mut bad, mut minted, mut asked, mut refused) = (0, 0, 0, 0);
    for seed in from..to {
        let scenario = Scenario::new(seed, 5, 60, &classes, args.len() > 4);
        let e = floe_sim::run::Entrant::named(&std::env::var("MODEL").unwrap_or("floe".into())).unwrap();
        e.run(&scenario, &mut history, floe_sim::run::Mode { noting: false, until_wrong: true });
        minted += history.counts.minted;
        asked += history.counts.asked;
        refused += history.counts.refused;
        if let Some(v) = history.violations.first() {
            bad += 1;
            if bad < 12 {
                println!(
                    "seed {seed}: {}.{:06} node {:?} {:?} {}",
                    v.at / 1_000_000,
                    v.at % 1_000_000,
                    v.node,
                    v.wrong,
                    v.words
                );
            }
        }
    }
    if to == from + 1 {
        let scenario = Scenario::new(from, 5, 60, &classes, args.len() > 4);
        println!("{:#?}", scenario.setups[0]);
        let e = floe_sim::run::Entrant::named(&std::env::var("MODEL").unwrap_or("floe".into())).unwrap();
        e.run(&scenario, &mut history, floe_sim::run::Mode { noting: true, until_wrong: true });
        for e in &history.events {
            println!("{}.{:06} {:?} {:?}", e.at / 1_000_000, e.at % 1_000_000, e.node, e.what);
        }
    }
    let n = to - from;
    let s = started.elapsed().as_secs_f64();
    println!(
        "{bad} bad of {n}; {:.0} seeds/s; per seed: asked {} minted {} refused {}",
        n as f64 / s,
        asked / n,
        minted / n,
        refused / n
    );
}
