"""Expectations of the built manifests. usage: kubernetes.py DIRECTORY_OF_THE_MANIFESTS [DIRECTORY_OF_THE_PROGRAMS]"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from checking import ROOT, Faults, seconds, settings
from cloudcoil.models.keda.v1alpha1 import ScaledObject, TriggerAuthentication
from cloudcoil.models.prometheus_operator.v1 import PodMonitor, PrometheusRule, ServiceMonitor

MODELS = {"ScaledObject": ScaledObject, "TriggerAuthentication": TriggerAuthentication,
          "PodMonitor": PodMonitor, "ServiceMonitor": ServiceMonitor, "PrometheusRule": PrometheusRule}
# Newer than the models: KEDA 2.17.
NEWER = {"spec.fallback.behavior"}
ADMIN = {"worker": 9090, "sidecar": 9091, "dashboard": 9092}
HTTP = {"sidecar": 8080, "dashboard": 8081}
LISTENS = {"sidecar": "MARTLET_HTTP_ADDRESS", "dashboard": "MARTLET_DASHBOARD_ADDRESS"}
PARTS = {"worker", "sidecar", "dashboard"}
# They send to APNs, so they have its key.
SENDING = {"worker", "sidecar"}
DEFAULT_QUEUES = ["push:jobs:high", "push:jobs", "push:jobs:low"]
DRAIN = "martlet_queue_drain_seconds"
CERTIFICATE = {"MARTLET_HTTP_CERT": "tls.crt", "MARTLET_HTTP_KEY": "tls.key"}
SERVED = {"secret": "secretName", "configMap": "name"}


def members(value, path=""):
    """The path of every member of an object."""
    if isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            yield inner
            yield from members(item, inner)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from members(item, f"{path}[{index}]")


class Build:
    """What one overlay applies."""

    def __init__(self, name, path, templates, faults, known):
        self.name, self.known = name, known
        self.objects = [item for item in yaml.safe_load_all(path.read_text()) if item]
        self.expect = lambda holds, message: faults.expect(holds, f"{name}: {message}")
        self.secrets = {item["metadata"]["name"]: set(item.get("stringData") or item.get("data"))
                        for item in templates + self.of("Secret")}
        self.config_maps = {item["metadata"]["name"]: item["data"] for item in self.of("ConfigMap")}

    def of(self, kind):
        return [item for item in self.objects if item["kind"] == kind]

    def part(self, kind, part):
        found = [item for item in self.of(kind) if item["metadata"]["name"] == f"martlet-{part}"]
        self.expect(len(found) == 1, f"{kind} martlet-{part}: there are {len(found)}")
        return found[0]

    def container(self, part):
        return self.part("Deployment", part)["spec"]["template"]["spec"]["containers"][0]

    def environment(self, container):
        """Names and values; None for a value out of a secret."""
        values = {}
        for source in container.get("envFrom", []):
            values |= self.config_maps.get(source["configMapRef"]["name"], {})
        return values | {entry["name"]: entry.get("value") for entry in container.get("env", [])}

    def policies(self, labels):
        return [item["spec"] for item in self.of("NetworkPolicy")
                if (item["spec"]["podSelector"].get("matchLabels") or {}).items() <= labels.items()]

    def examine(self):
        for item in self.objects:
            namespace = item["metadata"].get("namespace")
            self.expect(item["kind"] == "Namespace" or namespace == "martlet", f"{item['kind']} is in {namespace}")
        namespace = self.of("Namespace")[0]["metadata"]
        self.expect(namespace["labels"].get("pod-security.kubernetes.io/enforce") == "restricted", "the namespace is not restricted")
        account = self.of("ServiceAccount")[0]
        self.expect(account.get("automountServiceAccountToken") is False, "the service account has a token")
        for workload in self.of("Deployment") + self.of("StatefulSet"):
            self.examine_references(workload)
        for part in PARTS:
            self.examine_part(part)
        self.examine_network()
        for kind, model in MODELS.items():
            for item in self.of(kind):
                self.examine_custom(item, model)
        self.examine_certificate()
        if self.name in ("production", "autoscaling", "tls"):
            self.examine_monitors()
            for part in PARTS:
                replicas = self.part("Deployment", part)["spec"].get("replicas")
                scaled = self.name == "autoscaling" and part == "worker"
                # Without an operator a dashboard ends with 2.
                right = replicas == 0 if part == "dashboard" else replicas is None if scaled else (replicas or 0) >= 2
                self.expect(right, f"{part}: replicas is {replicas}")
        elif self.name == "development":
            self.expect(self.part("Deployment", "dashboard")["spec"]["replicas"] == 1, "dashboard: does not run")
        if self.name == "autoscaling":
            self.examine_scaling()

    def examine_references(self, workload):
        pod = workload["spec"]["template"]["spec"]
        name = workload["metadata"]["name"]
        volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
        claims = {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])}
        self.expect(pod["serviceAccountName"] == "martlet", f"{name}: another service account")
        for volume in volumes.values():
            for kind, there in (("secret", self.secrets), ("configMap", self.config_maps)):
                if kind in volume:
                    source = volume[kind][SERVED[kind]]
                    self.expect(source in there, f"{name}: there is no {kind} {source}, nor a template of it")
        for container in pod["containers"] + pod.get("initContainers", []):
            where = f"{name}, container {container['name']}"
            for mount in container.get("volumeMounts", []):
                self.expect(mount["name"] in volumes or mount["name"] in claims, f"{where}: there is no volume {mount['name']}")
            for source in container.get("envFrom", []):
                self.expect("secretRef" not in source, f"{where}: secrets as environment")
                map = source["configMapRef"]["name"]
                self.expect(map in self.config_maps, f"{where}: there is no ConfigMap {map}")
            for entry in container.get("env", []):
                key = entry.get("valueFrom", {}).get("secretKeyRef")
                if key:
                    self.expect(key["key"] in self.secrets.get(key["name"], ()),
                                f"{where}: neither a secret nor a template has {key['name']}/{key['key']}")
            if container["image"].startswith("martlet"):
                for setting in self.environment(container):
                    self.expect(setting in self.known, f"{where}: {setting} is not a setting of docs/settings.md")
            ports = {port["name"] for port in container.get("ports", [])}
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if self.expect(probe in container, f"{where}: {probe} is missing"):
                    port = next((test["port"] for test in container[probe].values() if isinstance(test, dict) and "port" in test), None)
                    self.expect(port is None or port in ports, f"{where}: {probe} asks port {port}, which there is not")

    def examine_part(self, part):
        deployment, container = self.part("Deployment", part), self.container(part)
        pod = deployment["spec"]["template"]["spec"]
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        environment = self.environment(container)
        self.expect(container["command"] == ["/usr/local/bin/martlet"] and container["args"] == [part], f"{part}: runs something else")
        self.expect(re.fullmatch(r"martlet(:[\w.-]+)?", container["image"]), f"{part}: image {container['image']}")
        for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            got = container[probe].get("httpGet", {})
            self.expect(got == {"path": path, "port": "admin"}, f"{part}: {probe} asks {got}, not {path} of the port admin")
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        expected = {"admin": ADMIN[part]} | ({"http": HTTP[part]} if part in HTTP else {})
        self.expect(ports == expected, f"{part}: ports are {ports}, not {expected}")
        self.expect(environment.get("MARTLET_ADMIN_ADDRESS") == f"0.0.0.0:{ADMIN[part]}", f"{part}: MARTLET_ADMIN_ADDRESS")
        if part in HTTP:
            # In development a dashboard needs no operator, as only a port-forward reaches it.
            place = "127.0.0.1" if (self.name, part) == ("development", "dashboard") else "0.0.0.0"
            self.expect(environment.get(LISTENS[part]) == f"{place}:{HTTP[part]}", f"{part}: {LISTENS[part]}")
        before = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        self.expect(before == (5 if part in HTTP else 0), f"{part}: preStop sleeps {before} s")
        grace = seconds(environment.get("MARTLET_SHUTDOWN_GRACE", "25s"))
        total = pod.get("terminationGracePeriodSeconds", 30)
        self.expect(total >= before + grace + 5, f"{part}: {total} s end it before preStop ({before} s) and grace ({grace:.0f} s) are over")
        self.expect(container["terminationMessagePolicy"] == "FallbackToLogsOnError", f"{part}: why it ended is not reported")
        self.expect(pod.get("enableServiceLinks") is False, f"{part}: services become settings")
        self.expect(pod.get("automountServiceAccountToken") is False, f"{part}: has a token")
        self.expect({c["topologyKey"] for c in pod.get("topologySpreadConstraints", [])}
                    == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}, f"{part}: is not spread")
        rolling = deployment["spec"]["strategy"]["rollingUpdate"]
        self.expect(rolling["maxUnavailable"] == 0, f"{part}: an update takes pods away first")
        for volume in (volume for volume in pod["volumes"] if "secret" in volume):
            name = volume["secret"]["secretName"]
            self.expect(volume["secret"].get("optional") is True, f"{part}: without {name} the program cannot name what is missing")
        key = environment.get("APNS_KEY_PATH") if part in SENDING else None
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        self.expect(part in SENDING or not any("apns" in mount for mount in mounts), f"{part}: has the provider key, which it does not need")
        self.expect(not key or any(key.startswith(mount + "/") for mount in mounts), f"{part}: nothing is mounted at {key}")
        if key and key.startswith("/etc/martlet/apns/"):
            self.expect(Path(key).name in self.secrets["martlet-apns"], f"{part}: the template of martlet-apns has no {Path(key).name}")
        for service in [self.part("Service", part)]:
            self.expect(service["spec"]["selector"].items() <= labels.items(), f"{part}: its service selects no pod")
            for port in service["spec"]["ports"]:
                self.expect(port["port"] == ports.get(port["targetPort"]), f"{part}: its service's port {port['port']}")
        budget = self.part("PodDisruptionBudget", part)["spec"]
        self.expect(budget.get("maxUnavailable") == 1 and budget.get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
                    and budget["selector"]["matchLabels"].items() <= labels.items(), f"{part}: its disruption budget")

    def examine_certificate(self):
        """The component tls: the settings name what it mounts, and the secret has the form that cert-manager makes."""
        container = self.container("sidecar")
        files = {name: self.environment(container).get(name) for name in CERTIFICATE}
        if self.name != "tls":
            self.expect(set(files.values()) == {None}, f"sidecar: has a certificate: {files}")
            return
        mount = next(mount for mount in container["volumeMounts"] if mount["name"] == "tls")
        self.expect("subPath" not in mount and mount.get("readOnly") is True, "sidecar: a new certificate does not reach it")
        self.expect(files == {name: f"{mount['mountPath']}/{key}" for name, key in CERTIFICATE.items()}, f"sidecar: certificate {files}")
        self.expect(set(CERTIFICATE.values()) == self.secrets["martlet-tls"], "the template of martlet-tls has other files")

    def examine_network(self):
        denied = [item["spec"] for item in self.of("NetworkPolicy") if item["spec"]["podSelector"] == {}]
        self.expect(denied == [{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}], "network: not everything is denied first")
        for part in PARTS:
            labels = self.part("Deployment", part)["spec"]["template"]["metadata"]["labels"]
            policies = self.policies(labels)
            out = {(port["protocol"], port["port"]) for policy in policies for rule in policy.get("egress", []) for port in rule["ports"]}
            expected = {("UDP", 53), ("TCP", 53), ("TCP", 6379), ("TCP", 443), ("TCP", 2197)}
            self.expect(out == expected, f"network: {part} reaches {sorted(out)}, not {sorted(expected)}")
            for rule in (rule for policy in policies for rule in policy.get("egress", [])):
                if 6379 in [port["port"] for port in rule["ports"]]:
                    self.expect(len(rule["ports"]) == 1, f"network: {part} reaches more than Redis where it reaches Redis")
                    blocks = [target.get("ipBlock", {}).get("cidr") for target in rule.get("to", [])]
                    self.expect(blocks and not {"0.0.0.0/0", "::/0"} & set(blocks), f"network: {part} reaches port 6379 of anybody")
            for rule in (rule for policy in policies for rule in policy.get("ingress", [])):
                admin = [port["port"] for port in rule["ports"] if port["port"] in ADMIN.values()]
                self.expect(not admin or rule.get("from"), f"network: anybody reaches the admin port of {part}")
            into = {port["port"] for policy in policies for rule in policy.get("ingress", []) for port in rule["ports"]}
            expected = {HTTP[part]} if part in HTTP else set()
            self.expect(into & set(HTTP.values()) == expected, f"network: {part} is reached at {sorted(into)}")
            for rule in (rule for policy in policies for rule in policy.get("ingress", [])):
                pages = part == "dashboard" and HTTP[part] in [port["port"] for port in rule["ports"]]
                self.expect(not pages or rule.get("from"), "network: anybody reaches the dashboard")
            if self.of("PodMonitor"):
                self.expect(ADMIN[part] in into, f"network: nothing may read the metrics of {part}")

    def examine_custom(self, item, model):
        kind = item["kind"]
        try:
            taken = model.model_validate(item).model_dump(by_alias=True, exclude_unset=True, mode="json")
        except ValueError as error:
            self.expect(False, f"{kind} is not valid: {error}")
            return
        for path in sorted(set(members(item)) - set(members(taken)) - NEWER):
            self.expect(path.startswith(("metadata.", "apiVersion", "kind")), f"{kind} has no field {path}")

    def examine_monitors(self):
        for kind, part, endpoints in (("PodMonitor", "worker", "podMetricsEndpoints"), ("ServiceMonitor", "sidecar", "endpoints"),
                                      ("ServiceMonitor", "dashboard", "endpoints")):
            spec = self.part(kind, part)["spec"]
            labels = (self.part("Deployment", part)["spec"]["template"] if kind == "PodMonitor"
                      else self.part("Service", part))["metadata"]["labels"]
            self.expect(spec["selector"]["matchLabels"].items() <= labels.items(), f"{kind}: selects nothing")
            for endpoint in spec[endpoints]:
                self.expect(endpoint["port"] == "admin" and endpoint["path"] == "/metrics", f"{kind}: {endpoint}")

        rules = yaml.safe_load((ROOT / "deploy/prometheus/martlet-rules.yaml").read_text())
        self.expect([item["spec"] for item in self.of("PrometheusRule")] == [rules], "PrometheusRule: other rules than deploy/prometheus")

    def examine_scaling(self):
        spec = self.part("ScaledObject", "worker")["spec"]
        self.expect(spec["scaleTargetRef"]["name"] == "martlet-worker", "scaling: of something else")
        self.expect(spec["minReplicaCount"] >= 2 and "idleReplicaCount" not in spec, "scaling: below two workers")
        self.expect(spec["maxReplicaCount"] > spec["minReplicaCount"], "scaling: no room")
        fallback = spec.get("fallback", {})
        self.expect(fallback.get("behavior") == "currentReplicasIfHigher" and fallback.get("replicas", 0) >= 2, "scaling: fallback")
        down = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
        self.expect(down["stabilizationWindowSeconds"] >= 300, "scaling: down without five minutes of patience")
        self.expect(all(policy["type"] == "Pods" and policy["value"] == 1 for policy in down["policies"]), "scaling: down by several")
        drain = [trigger["metadata"] for trigger in spec["triggers"] if trigger["type"] == "metrics-api"]
        if self.expect(len(drain) == 1, "scaling: no trigger on the time to drain"):
            url, (service,) = urlsplit(drain[0]["url"]), [self.part("Service", "worker")]
            self.expect(url.hostname.split(".")[:2] == [service["metadata"]["name"], service["metadata"]["namespace"]]
                        and url.port == ADMIN["worker"] and url.path == "/metrics", f"scaling: there is no {url.geturl()}")
            self.expect(drain[0]["valueLocation"] == DRAIN and drain[0]["format"] == "prometheus", f"scaling: not on {DRAIN}")
            # The sum over n workers, divided by the target: an AverageValue, as fallback needs it.
            self.expect(drain[0]["aggregateFromKubeServiceEndpoints"] == "true" and drain[0]["aggregationType"] == "sum",
                        "scaling: not on the sum over the workers")
        self.expect(not any(trigger.get("metricType") for trigger in spec["triggers"]), "scaling: fallback needs AverageValue")
        queues = self.environment(self.container("worker")).get("MARTLET_QUEUES")
        lists = [trigger["metadata"]["listName"] for trigger in spec["triggers"] if trigger["type"] == "redis"]
        self.expect(lists == (queues.split(",") if queues else DEFAULT_QUEUES), f"scaling: the lists are {lists}")
        names = [trigger.get("name") for trigger in spec["triggers"]]
        self.expect(len(set(names)) == len(names) and None not in names, f"scaling: names of triggers {names}")
        granted = {item["metadata"]["name"]: item["spec"] for item in self.of("TriggerAuthentication")}
        for trigger in spec["triggers"]:
            reference = trigger.get("authenticationRef", {}).get("name")
            self.expect(trigger["type"] != "redis" or reference in granted, f"scaling: there is no TriggerAuthentication {reference}")
        for target in (target for one in granted.values() for target in one["secretTargetRef"]):
            self.expect(target["key"] in self.secrets.get(target["name"], ()), f"scaling: no template has {target['name']}/{target['key']}")
        labels = self.part("Deployment", "worker")["spec"]["template"]["metadata"]["labels"]
        sources = str([policy.get("ingress") for policy in self.policies(labels)])
        self.expect("'kubernetes.io/metadata.name': 'keda'" in sources, "network: KEDA does not reach the workers")

    def try_program(self, programs):
        """The settings as a container gets them: what the program reports about them, with secrets and without."""
        martlet = programs / "martlet"
        with tempfile.TemporaryDirectory() as directory:
            key = Path(directory) / "AuthKey.p8"
            subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key],
                           check=True, capture_output=True)
            redis = Path(directory) / "url"
            redis.write_text("redis://127.0.0.1:1\n")
            pair = [Path(directory) / name for name in CERTIFICATE.values()]
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x",
                            "-out", pair[0], "-keyout", pair[1]], check=True, capture_output=True)
            for part in PARTS:
                given = {"APNS_KEY_ID": "ABC123DEFG", "APNS_TEAM_ID": "DEF123GHIJ"}
                values = {name: given.get(name, value) for name, value in self.environment(self.container(part)).items()}
                local = lambda value: re.sub(r"^/(etc/martlet/apns|run/apns)/AuthKey\w*\.p8$", str(key), value)
                full = {name: local(value) for name, value in values.items() if name != "APNS_CA_CERT"}
                self.expect(full.get("REDIS_URL_FILE") == "/etc/martlet/redis/url", f"{part}: REDIS_URL_FILE is not the file of its secret")
                full["REDIS_URL_FILE"] = str(redis)
                full |= {name: str(path) for name, path in zip(CERTIFICATE, pair) if name in full}
                ended = subprocess.run([martlet, "doctor"], env=full, capture_output=True, text=True)
                # 1: there is no Redis here.
                self.expect(ended.returncode in (0, 1), f"{part}: the program refuses its settings: {ended.stdout}{ended.stderr}")
            if self.name == "production":
                for part in PARTS:
                    bare = {name: value for name, value in self.environment(self.container(part)).items() if value}
                    ended = subprocess.run([martlet, part], env=bare, capture_output=True, text=True, timeout=300)
                    self.expect(ended.returncode == 2, f"a {part} without its secrets ended with {ended.returncode}")
                    for name in ("REDIS_URL_FILE", *(("APNS_KEY_PATH", "APNS_KEY_ID", "APNS_TEAM_ID") if part in SENDING else ())):
                        self.expect(name in ended.stderr, f"a {part} without its secrets does not name {name}: {ended.stderr}")
        if self.name == "development":
            simulator = self.part("Deployment", "worker")["spec"]["template"]["spec"]["initContainers"][0]
            self.try_simulator(simulator, self.environment(self.container("worker")), programs)

    def try_simulator(self, simulator, environment, programs):
        options = simulator["args"]
        url = urlsplit(environment["APNS_ENDPOINT_OVERRIDE"])
        self.expect(simulator.get("restartPolicy") == "Always", "simulator: it ends before the worker starts")
        self.expect(url.hostname == "localhost" and f"127.0.0.1:{url.port}" in options, f"simulator: not at {url.geturl()}")
        self.expect(environment.get("APNS_SANDBOX_ENDPOINT_OVERRIDE") == url.geturl(), "simulator: not named for the sandbox")
        with tempfile.TemporaryDirectory() as directory:
            # Any free port, so that two checks do not meet.
            command = [re.sub(r"^(127\.0\.0\.1|0\.0\.0\.0):\d+$", "127.0.0.1:0", option).replace("/run/apns", directory) for option in options]
            process = subprocess.Popen([programs / "apns-simulator", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            line = process.stdout.readline()
            for setting in ("APNS_KEY_PATH", "APNS_CA_CERT"):
                path = environment[setting].replace("/run/apns", directory)
                self.expect(line and os.path.exists(path), f"simulator: {setting} is not a file of it")
            for setting in ("APNS_KEY_ID", "APNS_TEAM_ID"):
                self.expect(f'"{environment[setting]}"' in line, f"simulator: another {setting}")
            process.terminate()
            said = process.communicate(timeout=300)[1]
            self.expect(line, f"simulator: {said}")


def main():
    built, programs = Path(sys.argv[1]), [Path(path).resolve() for path in sys.argv[2:]]
    faults, known = Faults(), settings()
    templates = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "deploy/kubernetes/secrets").glob("*.yaml"))]
    for template in templates:
        text = str(template["stringData"])
        faults.expect("BEGIN" not in text and not re.search(r"[0-9a-zA-Z+/]{24,}", text), f"{template['metadata']['name']} is not a template")
    page = (ROOT / "docs/kubernetes.md").read_text()
    for template in templates:
        name = template["metadata"]["name"]
        if template.get("type") == "kubernetes.io/tls":
            faults.expect(f"create secret tls {name} --cert=" in page, f"docs/kubernetes.md does not make the secret {name}")
            continue
        faults.expect(f"create secret generic {name} " in page, f"docs/kubernetes.md does not make the secret {name}")
        for key in template["stringData"]:
            faults.expect(re.search(rf"{name} .*--from-(literal|file)={re.escape(key)}=", page), f"docs/kubernetes.md: {name} without {key}")
    for name in re.findall(r"deploy/kubernetes/[\w/.-]*\w", page):
        faults.expect((ROOT / name).exists(), f"docs/kubernetes.md: there is no {name}")
    builds = [Build(name, built / f"{name}.yaml", templates, faults, known) for name in ("base", "development", "production", "autoscaling", "tls")]
    for build in builds:
        build.examine()
    faults.end("deploy/kubernetes")
    if programs:
        for build in builds:
            build.try_program(programs[0])
        faults.end("deploy/kubernetes, with the programs")


main()
