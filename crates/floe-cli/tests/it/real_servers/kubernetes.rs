//! The page on Kubernetes: its manifest is read, and floe runs as the manifest says, on a real PostgreSQL.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use floe_server::Config;
use floe_testbed::free_port;
use rustix::process::Signal;
use saphyr::{LoadableYamlNode as _, Yaml};

use crate::client::{agent, get};
use crate::process::{PATIENCE, Server, floe, now, run, until};

const PAGE: &str = include_str!("../../../../../docs/kubernetes.md");

/// The content of the page's only block in this language.
fn block(language: &str) -> &'static str {
    let fence = format!("\n```{language}\n");
    let mut blocks = PAGE.split(&fence).skip(1);
    let block = blocks.next().expect("the page has such a block").split("\n```").next().expect("it ends");
    assert_eq!(blocks.next(), None, "the page has two blocks of {language}");
    block
}

/// The number between these two texts of the page.
fn number(before: &str, after: &str) -> u64 {
    let words = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    let rest = words.split(before).nth(1).unwrap_or_else(|| panic!("the page does not say: {before}"));
    rest.split(after)
        .next()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_else(|| panic!("{before}: {rest}"))
}

fn text<'a>(yaml: &'a Yaml<'_>) -> &'a str {
    yaml.as_str().unwrap_or_else(|| panic!("not a text: {yaml:?}"))
}

fn integer(yaml: &Yaml<'_>) -> u64 {
    yaml.as_integer()
        .and_then(|number| u64::try_from(number).ok())
        .unwrap_or_else(|| panic!("not a count: {yaml:?}"))
}

#[test]
fn floe_is_what_the_manifest_says() {
    let documents = Yaml::load_from_str(block("yaml")).expect("the manifest is YAML");
    let [secret, deployment, service] = documents.as_slice() else { panic!("{} documents", documents.len()) };
    assert_eq!(
        ["Secret", "Deployment", "Service"],
        [secret, deployment, service].map(|part| text(&part["kind"]))
    );
    let template = &deployment["spec"]["template"];
    let (pod, container) = (&template["spec"], &template["spec"]["containers"][0]);

    // Names that have to agree.
    let labels = &template["metadata"]["labels"];
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(&service["spec"]["selector"], labels);
    let (volume, mount) = (&pod["volumes"][0], &container["volumeMounts"][0]);
    assert_eq!(volume["name"], mount["name"]);
    let name = &secret["metadata"]["name"];
    assert_eq!(&volume["secret"]["secretName"], name);
    let password = &container["env"][0];
    assert_eq!(text(&password["name"]), "PGPASSWORD");
    let reference = &password["valueFrom"]["secretKeyRef"];
    assert_eq!(&reference["name"], name);
    let password = text(&secret["stringData"][text(&reference["key"])]);
    let item = &volume["secret"]["items"][0];
    let mounted = format!("{}/{}", text(&mount["mountPath"]), text(&item["path"]));
    let written = text(&secret["stringData"][text(&item["key"])]);
    let docker = block("dockerfile");
    assert!(docker.ends_with("\nENTRYPOINT [\"floe\"]"), "{docker}");
    let user = integer(&pod["securityContext"]["runAsUser"]);
    assert!(docker.contains(&format!("\nUSER {user}\n")), "{docker}");
    assert_eq!(integer(&pod["securityContext"]["fsGroup"]), user);

    // The configuration, with a real database, a real token and free ports. All else is as it is written.
    let rig = super::Rig::postgres();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("floe.toml");
    fs::write(&file, written).unwrap();
    let config = Config::load(&file);
    let token = run(&mut floe(["token", "new", "--name", "shop", "--names", "orders,tickets"])).out;
    let secret = token.lines().next().unwrap();
    let hash = token.lines().find(|line| line.starts_with("hash = ")).unwrap();
    let port = free_port();
    let mut replaced = written.to_owned();
    for (from, to) in [
        ("hash = \"sha256d:HASH\"", hash.to_owned()),
        (
            "\"postgres://floe@db.example:5432/ids?sslmode=verify-full&sslrootcert=system\"",
            format!("\"{}\"", (rig.url)(rig.server.port())),
        ),
        ("\"0.0.0.0:7600\"", format!("[\"127.0.0.1:0\", \"0.0.0.0:{port}\"]")),
    ] {
        assert_eq!(replaced.matches(from).count(), 1, "{from}");
        replaced = replaced.replace(from, &to);
    }
    // Only the placeholder of the token is wrong in the file as it is written.
    let wrong = config.expect_err("HASH is a placeholder").to_string();
    assert!(wrong.contains("[[token]] hash") && wrong.matches("floe.toml:").count() == 1, "{wrong}");
    fs::write(&file, replaced).unwrap();
    let config = Config::load(&file).unwrap();
    // YAML 1.1, which Kubernetes reads, takes a number that begins with 0 as octal; this reader takes it as decimal.
    let mode = integer(&volume["secret"]["defaultMode"]).to_string();
    fs::set_permissions(&file, fs::Permissions::from_mode(u32::from_str_radix(&mode, 8).unwrap())).unwrap();

    // Ports, times and memory.
    let listens = u16::try_from(integer(&container["ports"][0]["containerPort"])).unwrap();
    assert!(
        written.contains(&format!("listen = \"0.0.0.0:{listens}\"")),
        "the container has the port {listens}"
    );
    let probes = ["livenessProbe", "readinessProbe"].map(|probe| &container[probe]["httpGet"]);
    for port in [&service["spec"]["ports"][0]["port"], &probes[0]["port"], &probes[1]["port"]] {
        assert_eq!(integer(port), u64::from(listens));
    }
    let grace = Duration::from_secs(integer(&pod["terminationGracePeriodSeconds"]));
    let limits = &config.limits;
    let drain = number("`limits.drain_timeout` (", " s)");
    assert_eq!(drain, limits.drain_timeout.as_secs());
    let close = Duration::from_secs(number(&format!("`limits.drain_timeout` ({drain} s) + "), " s to give"));
    assert!(grace > limits.drain_delay + limits.drain_timeout + close, "{grace:?} is too short");
    let failures = integer(&container["readinessProbe"]["failureThreshold"]);
    let unready = Duration::from_secs(failures * integer(&container["readinessProbe"]["periodSeconds"]));
    assert!(unready < limits.drain_delay, "clients are sent to a server that has closed its listeners");
    let memory = text(&container["resources"]["limits"]["memory"]).strip_suffix("Mi").unwrap();
    let memory = memory.parse::<usize>().unwrap() << 20;
    assert!(memory > limits.memory + (64 << 20), "{memory} bytes for {} and the server", limits.memory);
    assert_eq!(
        number("[`limits.memory`](operating.md#memory-and-connections) (", " MB)"),
        (limits.memory >> 20) as u64
    );

    // The container, with a root that it does not write to.
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let arguments = container["args"].as_sequence().expect("a list of arguments").iter().map(text);
    let arguments =
        arguments.map(|argument| if argument == mounted { file.to_str().unwrap() } else { argument });
    let arguments: Vec<_> = arguments.collect();
    assert!(arguments.contains(&file.to_str().unwrap()), "no argument is {mounted}");
    let server = Server::spawn(floe(&arguments).current_dir(&root).env("PGPASSWORD", password));
    let [alive, ready] = probes.map(|probe| format!("{}{}", server.url(), text(&probe["path"])));
    let ask = |url: &str| get(&agent(), url).expect("an answer").0;
    until(PATIENCE, "the server to be ready", || (ask(&ready) == 200).then_some(()));
    assert_eq!(ask(&alive), 200);
    let mint = |name: &str| {
        let url = format!("{}/v1/mint/{name}", server.url());
        let answer = agent()
            .get(url)
            .header("Authorization", format!("Bearer {secret}"))
            .header("Accept", "text/plain");
        answer.call().unwrap().body_mut().read_to_string().unwrap()
    };
    assert_eq!(mint("tickets"), "50000001\n");
    let realm = run(floe(["realm", "--config"]).arg(&file).env("PGPASSWORD", password));
    assert!(realm.lines().iter().any(|line| line.starts_with("shop ")), "{realm:?}");

    // Kubernetes stops it: the readiness probe fails first, and the server ends within the grace period.
    let told = now();
    server.signal(Signal::TERM);
    until(PATIENCE, "readiness to fail", || (ask(&ready) == 503).then_some(()));
    assert_eq!(ask(&alive), 200);
    assert_eq!(mint("tickets"), "50000002\n");
    let mut server = server;
    let (status, said) = server.ended();
    let took = told.elapsed();
    assert!(status.success(), "{said}");
    assert!(took >= limits.drain_delay && took < grace, "{took:?}");
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "it wrote to its disk");
}
