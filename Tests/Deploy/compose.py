"""Expectations of the compose files, beyond their schema. usage: compose.py [DIRECTORY_OF_THE_PROGRAMS]"""

import copy
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from checking import ROOT, Faults, seconds, settings
from processes import Fleet, settings_of_redis

FILE = ROOT / "deploy/compose.yaml"
APNS = ROOT / "deploy/compose/apns.yaml"
MONITORING = ROOT / "deploy/compose/monitoring.yaml"
USER = "65532:65532"
# Its service runs once an operator exists; any other profile is of commands, or of what does not run.
DASHBOARD = ["dashboard"]
# Redis' durability, as docs/operations.md asks for it.
DURABILITY = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction", "dir": "/data"}


def interpolated(value, given):
    """`${NAME:-default}`, `${NAME:?message}` and `$$`, as compose reads them."""
    if isinstance(value, dict):
        return {key: interpolated(item, given) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, given) for item in value]
    if not isinstance(value, str):
        return value
    def put(match):
        if match[0] == "$$":
            return "$"
        name, kind, rest = match["name"], match["kind"], match["rest"]
        if given.get(name):
            return given[name]
        if kind == ":-":
            return rest
        raise KeyError(f"{name} {rest}")
    return re.sub(r"\$\$|\$\{(?P<name>\w+)(?P<kind>:[-?])(?P<rest>[^}]*)\}", put, value)


def merged(base, over):
    """Mappings are merged, lists joined, everything else replaced: what compose does with the members used here."""
    if isinstance(base, dict) and isinstance(over, dict):
        return {key: merged(base[key], over[key]) if key in base and key in over else over.get(key, base.get(key))
                for key in {**base, **over}}
    if isinstance(base, list) and isinstance(over, list):
        return base + [item for item in over if item not in base]
    return over


def argument(service, name):
    """The value behind an option of the service's command."""
    command = service["command"]
    return command[command.index(name) + 1] if name in command[:-1] else None


def examine(project, faults, known):
    """Expectations that hold with and without apns.yaml."""
    services = project["services"]
    for name, service in services.items():
        is_own = service["image"].startswith("martlet")
        expect = lambda holds, message: faults.expect(holds, f"service {name}: {message}")
        expect(service.get("read_only") is True, "read_only: true is missing")
        expect(service.get("cap_drop") == ["ALL"], "cap_drop: [ALL] is missing")
        expect("no-new-privileges:true" in service.get("security_opt", []), "no-new-privileges:true is missing")
        expect(not service.get("privileged") and not service.get("cap_add"), "has privileges")
        expect(service.get("user") == (USER if is_own else "999:999"), f"user is {service.get('user')!r}")
        expect(not (service["image"].endswith(":latest") and not is_own), "image has no fixed tag")
        expect(service.get("logging", {}).get("options", {}).keys() >= {"max-size", "max-file"}, "its log grows without limit")
        if is_own:
            expect(service.get("ulimits") == {"nofile": 16384}, "another limit of descriptors than the units'")
        for port in service.get("ports", []):
            expect(str(port).startswith("127.0.0.1:"), f"port {port} is published beyond the loopback interface")
        for network in service.get("networks", []):
            expect(network in project["networks"], f"network {network} does not exist")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            there = (FILE.parent / source).exists() if source.startswith(".") else source in project["volumes"]
            expect(there, f"volume {source} does not exist")
        for secret in service.get("secrets", []):
            expect(secret in project.get("secrets", {}), f"secret {secret} does not exist")
        for other in service.get("depends_on", {}):
            expect(other in services, f"depends on {other}, which does not exist")
            expect(services.get(other, {}).get("healthcheck"), f"waits for {other}, which has no health check")
        environment = service.get("environment", {})
        for setting in environment:
            expect(setting in known, f"{setting} is not a setting of docs/settings.md")
        for setting in ("APNS_KEY_PATH", "APNS_CA_CERT"):
            value = environment.get(setting)
            places = [volume.split(":")[1] for volume in service.get("volumes", [])]
            places += [f"/run/secrets/{secret}" for secret in service.get("secrets", [])]
            expect(not value or any(value == p or value.startswith(p + "/") for p in places),
                   f"{setting}: nothing is mounted at {value}")
        for text in map(str, environment.values()):
            expect("BEGIN" not in text and not re.search(r"://[^/@]*:[^/@]+@", text), "its environment contains a secret")
        if service.get("profiles", DASHBOARD) != DASHBOARD:
            continue
        expect(service.get("restart") == "unless-stopped", "restart: unless-stopped is missing")
        expect(service.get("deploy", {}).get("resources", {}).get("limits", {}).get("memory"), "has no memory limit")
        check = service.get("healthcheck", {}).get("test", [])
        expect(check, "has no health check")
        if is_own:
            expect(service["deploy"]["resources"]["limits"].get("pids") == 64, "another limit of tasks than the units'")
            expect(check[:3] == ["CMD", "/usr/local/bin/martlet", "health"], f"health check is {check}: no shell, no curl")
        if "MARTLET_SHUTDOWN_GRACE" in environment:
            grace = seconds(environment["MARTLET_SHUTDOWN_GRACE"])
            expect(seconds(service.get("stop_grace_period", "10s")) > grace + 5,
                   f"stop_grace_period is not 5 s above MARTLET_SHUTDOWN_GRACE ({grace:.0f} s)")
    for name, port in (("worker", 9090), ("sidecar", 9091), ("dashboard", 9092)):
        address = services[name]["environment"].get("MARTLET_ADMIN_ADDRESS")
        faults.expect(address == f"0.0.0.0:{port}", f"service {name}: MARTLET_ADMIN_ADDRESS is {address}")
    sidecar = services["sidecar"]
    faults.expect(sidecar["environment"].get("MARTLET_HTTP_ADDRESS") == "0.0.0.0:8080"
                  and sidecar.get("ports") == ["127.0.0.1:8080:8080"], "service sidecar: 8080 is not reached")
    dashboard = services["dashboard"]
    faults.expect(dashboard["environment"].get("MARTLET_DASHBOARD_ADDRESS") == "0.0.0.0:8081"
                  and dashboard.get("ports") == ["127.0.0.1:8081:8081"], "service dashboard: 8081 is not reached")
    faults.expect(dashboard.get("profiles") == DASHBOARD, "service dashboard: without an operator `up` waits for it")
    faults.expect("APNS_KEY_PATH" not in dashboard["environment"] and not dashboard.get("secrets") and not dashboard.get("volumes"),
                  "service dashboard: it has the provider key, which it does not need")
    faults.expect(dashboard["environment"].get("APNS_BUNDLE_ID") == services["worker"]["environment"]["APNS_BUNDLE_ID"],
                  "service dashboard: it has another bundle id than the workers")
    faults.expect(services["worker"]["deploy"].get("replicas") == 2, "service worker: there are not two")
    url = urlsplit(services["worker"]["environment"]["REDIS_URL"])
    faults.expect(url.hostname == "redis" and url.port == 6379, f"REDIS_URL does not name the service redis: {url.geturl()}")
    faults.expect(project["networks"]["fleet"].get("internal") is True, "network fleet is not internal: Redis has no password")
    faults.expect(services["redis"]["networks"] == ["fleet"] and "ports" not in services["redis"], "Redis is published")
    faults.expect("redis:/data" in services["redis"]["volumes"], "Redis keeps nothing: no volume at /data")


def examine_simulator(project, faults):
    simulator, worker = project["services"]["simulator"], project["services"]["worker"]
    url = urlsplit(worker["environment"]["APNS_ENDPOINT_OVERRIDE"])
    faults.expect(url.hostname == "simulator" == argument(simulator, "--name"), "the simulator's certificate has another name")
    faults.expect(argument(simulator, "--listen") == f"0.0.0.0:{url.port}", "the simulator listens elsewhere")
    faults.expect(worker["environment"].get("APNS_SANDBOX_ENDPOINT_OVERRIDE") == url.geturl(),
                  "the simulator is not named for the sandbox: devices of it, or of no environment, are never removed")
    control = argument(simulator, "--control").split(":")[1]
    check = simulator["healthcheck"]["test"][-1]
    faults.expect(check == f"127.0.0.1:{control}", f"the simulator's health check asks {check}")
    faults.expect(f"127.0.0.1:{control}:{control}" in simulator["ports"], "the simulator's control port is not published")
    directory = argument(simulator, "--dir")
    faults.expect(f"apns:{directory}" in simulator["volumes"], "the simulator's key does not get into the volume")
    options = project["volumes"]["apns"]["driver_opts"]
    faults.expect(options["type"] == "tmpfs" and "uid=65532,gid=65532,mode=0700" in options["o"],
                  "volume apns: user 65532 cannot write there")


def examine_apns(project, faults):
    """With apns.yaml over it."""
    services = project["services"]
    for name in ("worker", "sidecar", "martlet"):
        environment = services[name]["environment"]
        settings = ("APNS_ENDPOINT_OVERRIDE", "APNS_SANDBOX_ENDPOINT_OVERRIDE", "APNS_CA_CERT")
        faults.expect(all(environment.get(setting) == "" for setting in settings),
                      f"apns.yaml: {name} still sends to the simulator")
        faults.expect("outside" in services[name]["networks"], f"apns.yaml: {name} does not reach APNs")
    faults.expect(services["simulator"].get("profiles"), "apns.yaml: the simulator still runs")
    for name in ("worker", "sidecar"):
        faults.expect(services[name]["depends_on"]["simulator"].get("required") is False,
                      f"apns.yaml: {name} still needs the simulator")
    for name, secret in project["secrets"].items():
        path = FILE.parent / secret["file"]
        template = path.parent / "README.md"
        faults.expect(template.exists() and f"`{path.name}`" in template.read_text(), f"secret {name} has no template")
        ignored = subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT).returncode == 0
        faults.expect(ignored, f"secret {name}: git would take {path.name}")


def examine_redis(faults):
    """A real Redis reads its settings; only where it listens and writes is another place."""
    with tempfile.TemporaryDirectory() as directory:
        socket = f"{directory}/redis.sock"
        log = open(f"{directory}/log", "w+")
        command = ["redis-server", settings_of_redis(directory), "--port", "0", "--unixsocket", socket]
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            end = time.monotonic() + 300
            while not os.path.exists(socket) and server.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            if not faults.expect(os.path.exists(socket), "redis.conf: Redis does not start: " + Path(log.name).read_text()[-400:]):
                return
            for name, value in DURABILITY.items():
                said = subprocess.run(["redis-cli", "-s", socket, "CONFIG", "GET", name], capture_output=True, text=True)
                seen = said.stdout.split("\n")[1]
                faults.expect(seen == (directory if name == "dir" else value), f"redis.conf: {name} is {seen!r}, not {value!r}")
            seen = int(subprocess.run(["redis-cli", "-s", socket, "CONFIG", "GET", "maxmemory"], capture_output=True,
                                      text=True).stdout.split("\n")[1])
            faults.expect(seen > 0, "redis.conf: without maxmemory the container's limit kills Redis instead")
            limit = yaml.safe_load(FILE.read_text())["services"]["redis"]["deploy"]["resources"]["limits"]["memory"]
            faults.expect(int(limit.rstrip("m")) * 1024 * 1024 >= seen * 1.2, "redis: the memory limit leaves no room above maxmemory")
        finally:
            server.terminate()
            server.wait()
    text = (FILE.parent / "compose/redis.conf").read_text()
    faults.expect(re.search(r"^dir /data$", text, re.M), "redis.conf: dir is not the volume")
    copy = ROOT / "deploy/kubernetes/overlays/development/redis.conf"
    faults.expect(copy.read_text() == text, f"{copy.relative_to(ROOT)} differs from compose/redis.conf")


def examine_page(project, faults):
    text = (ROOT / "docs/compose.md").read_text()
    for service in re.findall(r"docker compose (?:exec|run(?: --[\w-]+)*|restart|logs --follow) (\w+)", text):
        faults.expect(service in project["services"], f"docs/compose.md: there is no service {service}")


def examine_monitoring(project, over, faults):
    """monitoring.yaml beside the fleet: what it mounts is there, and Prometheus asks the services where they answer."""
    for name, service in over["services"].items():
        expect = lambda holds, message: faults.expect(holds, f"monitoring.yaml, service {name}: {message}")
        expect(re.search(r":v?\d+\.\d+\.\d+$", service["image"]), "image has no fixed tag")
        expect(service["read_only"] and service["cap_drop"] == ["ALL"] and service["restart"] == "unless-stopped", "is not hardened")
        expect(service["healthcheck"] and service["deploy"]["resources"]["limits"]["memory"], "has no health check or no limit")
        expect(all(port.startswith("127.0.0.1:") for port in service["ports"]), "is published beyond the loopback interface")
        expect(set(service["networks"]) == {"fleet", "watch"}, "the name of a service would have several addresses, or none")
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            there = (FILE.parent / source).exists() if source.startswith(".") else source in over["volumes"]
            expect(there, f"volume {source} does not exist")
    jobs = yaml.safe_load((ROOT / "deploy/compose/prometheus.yaml").read_text())["scrape_configs"]
    faults.expect({job["job_name"] for job in jobs} == {"martlet-worker", "martlet-sidecar"}, "the rules expect other names of jobs")
    for job in jobs:
        target, = job["dns_sd_configs"]
        address = project["services"][target["names"][0]]["environment"]["MARTLET_ADMIN_ADDRESS"]
        faults.expect(address == f"0.0.0.0:{target['port']}", f"Prometheus asks {target['names'][0]} on another port than {address}")
    datasource, = yaml.safe_load((ROOT / "deploy/compose/grafana/datasource.yaml").read_text())["datasources"]
    url = urlsplit(datasource["url"])
    faults.expect(url.hostname in over["services"] and url.port == 9090, f"Grafana asks {url.geturl()}")
    providers = yaml.safe_load((ROOT / "deploy/compose/grafana/dashboards.yaml").read_text())["providers"]
    places = [volume.split(":")[1] for volume in over["services"]["grafana"]["volumes"]]
    faults.expect(all(provider["options"]["path"] in places for provider in providers), "Grafana finds no dashboard")


def main():
    faults, known = Faults(), settings()
    base, over = (yaml.safe_load(path.read_text()) for path in (FILE, APNS))
    project = interpolated(base, {})
    examine(project, faults, known)
    examine_simulator(project, faults)
    given = {"APNS_KEY_ID": "ABC123DEFG", "APNS_TEAM_ID": "DEF123GHIJ", "APNS_BUNDLE_ID": "com.example.app"}
    real = merged(copy.deepcopy(project), interpolated(over, given))
    examine(real, faults, known)
    examine_apns(real, faults)
    for name, value in (("TasksMax", 64), ("LimitNOFILE", 16384)):
        for unit in sorted((ROOT / "deploy/systemd").glob("*.service")):
            faults.expect(re.search(rf"^{name}={value}$", unit.read_text(), re.M), f"{unit.name}: {name} is not {value}, as in compose.yaml")
    for name in given:
        try:
            interpolated(over, {key: value for key, value in given.items() if key != name})
            faults.expect(False, f"apns.yaml: {name} may be missing")
        except KeyError as error:
            faults.expect(name in str(error) and len(str(error)) > 20, f"apns.yaml: {name} is not explained")
    examine_monitoring(project, yaml.safe_load(MONITORING.read_text()), faults)
    examine_redis(faults)
    examine_page(project, faults)
    faults.end("deploy/compose.yaml")
    if len(sys.argv) > 1:
        with Fleet(project, Path(sys.argv[1]).resolve()) as fleet:
            fleet.examine(faults)
        faults.end("docs/compose.md, with the services as processes")


main()
