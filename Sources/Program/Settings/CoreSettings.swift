import APNs
import Registry
import Sidecar
import Worker

extension Setting {
  /// The settings that are of no part.
  package static let core: [Setting] = [
    .redisURL,
    .redisURLFile,
    .storeURL,
    .storeToken,
    .redisAuthorities,
    .redisCertificate,
    .redisKey,
    .keyID,
    .teamID,
    .privateKey,
    .keyPath,
    .bundleID,
    Setting(
      "HTTPS_PROXY", in: .apns,
      title: "`https_proxy` or `HTTPS_PROXY`, `all_proxy` or `ALL_PROXY`; `no_proxy` or `NO_PROXY`",
      """
      the proxy to APNs, `http://user:password@host:port` or `socks5h://host:port`, and the hosts that are \
      reached without it. libcurl reads them, as in other programs; `martlet doctor` says which proxy is used
      """,
      example: "http://user:password@proxy:3128",
      "The proxy to APNs."),
    Setting(
      "ALL_PROXY", in: .apns,
      example: "socks5h://proxy:1080",
      "The same for every protocol."),
    Setting(
      "NO_PROXY", in: .apns,
      example: "localhost",
      "Hosts that are reached without it."),
    .apps,
    .sandbox,
    .gateway,
    .sandboxGateway,
    .broadcastGateway,
    .channelsGateway,
    .gatewayAuthorities,
    .connections,
    .maximumConnections,
    .sendConcurrency,
    .lookupConcurrency,
    .queues,
    .delivery,
    .concurrency,
    .maximumAttempts,
    .results,
    .resultLifetime,
    .recordMemory,
    .notifications,
    .shutdownGrace,
    .timeZone,
    .httpAddress,
    .certificate,
    .certificateKey,
    .maximumDevices,
    .registrationLimit,
    .testLimit,
    .broadcastLimit,
    .failureLimit,
    .trustedProxies,
    .policyEnvironment,
    .allowedOrigins,
    .previewHostPrefixes,
    .trustedHostSuffixes,
    .broadcastIsOpen,
    .backup,
    .dashboardAddress,
    .events,
    .adminAddress,
    .logLevel,
  ]

  package static let connections = Setting(
    "APNS_CONNECTIONS", in: .apns, as: .whole(APNsConfiguration.connectionRange), default: "1",
    "connections for each environment, {}",
    "Connections for each environment, 1 to 64.")
  package static let maximumConnections = Setting(
    "APNS_CONNECTIONS_MAX", in: .apns, as: .whole(APNsConfiguration.connectionRange), default: "4",
    "connections for each environment [while pushes wait](apns.md#connections), {}",
    "The same while pushes wait for them.")
  package static let sendConcurrency = Setting(
    "APNS_SEND_CONCURRENCY", in: .apns, as: .whole(1...20),
    default: "\(SidecarConfiguration.defaultSendConcurrency)",
    "pushes at once of one test push: {}",
    "Pushes at once of one test push, 1 to 20.")
  package static let lookupConcurrency = Setting(
    "PUSH_METADATA_LOOKUP_CONCURRENCY", in: .apns, as: .whole(1...20),
    default: "\(SidecarConfiguration.defaultLookupConcurrency)",
    "lookups at once of one test push: {}",
    "Lookups at once of one test push, 1 to 20.")
  package static let concurrency = Setting(
    "MARTLET_CONCURRENCY", in: .worker, as: .whole(1...65_536),
    default: "\(WorkerConfiguration.defaultConcurrency)",
    "pushes in flight at once, of each worker process: {}",
    "Pushes in flight at once. With many, raise MemoryHigh and MemoryMax of the unit.")
  package static let maximumAttempts = Setting(
    "MARTLET_MAX_ATTEMPTS", in: .worker, as: .whole(1...1000), default: "\(WorkerConfiguration.defaultAttempts)",
    "attempts at a job: {}",
    "Attempts at a job.")
  package static let resultLifetime = Setting(
    "MARTLET_RESULT_TTL", in: .worker, as: .duration, default: "\(WorkerConfiguration.defaultResultHours)h",
    "how long a record is kept; {}",
    "How long a record is kept.")
  package static let shutdownGrace = Setting(
    "MARTLET_SHUTDOWN_GRACE", in: .worker, as: .duration, default: "\(WorkerConfiguration.defaultGraceSeconds)s",
    "time to finish after SIGTERM, {}; sidecar and dashboard read it too",
    "Time to finish after SIGTERM. With more than 30s, raise TimeoutStopSec of the units above it.")
  package static let maximumDevices = Setting(
    "MARTLET_MAX_DEVICES", in: .sidecar, as: .whole(Registry.deviceLimits),
    default: "\(Registry.defaultMaximumDevices)",
    """
    devices of a user in one app: {}. With one more, the device of that user and app that \
    was registered longest ago is removed. Devices without an app count as of one. Over all apps a user has at \
    most 1,000: with one more, the app with most of them loses its oldest. `martlet tokens` reads it too.
    """,
    "Devices of a user in one app; with one more, the oldest of them is removed.")
  package static let registrationLimit = Setting(
    "MARTLET_REGISTER_LIMIT", in: .sidecar, as: .limit, default: "120/1m",
    "registrations of a user or an instance, `N/window` (N up to 1,000,000) or `off`; {}",
    "Registrations of a user or an instance, or off.")
  package static let testLimit = Setting(
    "MARTLET_TEST_LIMIT", in: .sidecar, as: .limit, default: "60/1m",
    "test pushes of a user, one for each device; {}",
    "Test pushes of a user, or off.")
  package static let broadcastLimit = Setting(
    "MARTLET_BROADCAST_LIMIT", in: .sidecar, as: .limit, default: "600/1m",
    """
    `/newtoken` and `/newpush` of a key, together; without keys of a client address, then with the jobs of the gorush API; \
    {}
    """,
    "/newtoken and /newpush of a key, or off.")
  package static let failureLimit = Setting(
    "MARTLET_AUTH_FAILURE_LIMIT", in: .sidecar, as: .limit, default: "20/1m",
    """
    failed authentications of a client address (of IPv6 its /64) for the name it claims, and 5 times as many \
    for all names of the address (of IPv6 its /56); {}
    """,
    "Failed authentications of a client address, or off.")
  package static let delivery = Setting(
    "MARTLET_DELIVERY", in: .worker, as: .choice, default: "at-least-once",
    "`at-least-once` (default) or `at-most-once` (BRPOP: never sent twice, lost with a crash)",
    "at-least-once, or at-most-once: never sent twice, lost with a crash.")
  package static let results = Setting(
    "MARTLET_RESULTS", in: .worker, as: .choice, default: "all",
    """
    which jobs leave a record: `all` (default), `failures` (all but those accepted at once or deferred), \
    `none`
    """,
    "Which jobs leave a record: all, failures or none.")
  package static let notifications = Setting(
    "MARTLET_NOTIFICATION_LOG", in: .worker, as: .choice, default: "unsent",
    """
    which notifications clients can poll: `unsent` (default: those that no push could deliver, and of \
    instances everything), `all`, `off`; kept 30 days
    """,
    "Notifications that users can poll for: unsent, all or off.")
  package static let policyEnvironment = Setting(
    "MARTLET_ENV", in: .sidecar, as: .choice, default: "development",
    "`production`, `preview` or `development` (default): the [origin policy](http/push-api.md#origins)",
    "The origin policy: production, preview or development.")
  package static let events = Setting(
    "MARTLET_EVENTS", in: .all, as: .choice, default: "off",
    "`stream`: workers, sidecars and dashboards write [events](events.md) to `push:events`; default `off`",
    "stream: what happens to devices and jobs is written to push:events.")
  package static let redisURL = Setting(
    "REDIS_URL", in: .redis, as: .url,
    """
    `redis://[user:password@]host[:port][/db]`, `rediss://…` (TLS), `unix:///path[?db=N]`, \
    `redis+sentinel://[user:password@]h1:p1,h2:p2/master-name[/db]`, or a [cluster](redis.md#redis-cluster): \
    `redis+cluster://[user:password@]h1:p1,h2:p2`, `rediss+cluster://…` (TLS); default ports 6379 and 26379. \
    `valkey://` and `valkeys://` are the same as `redis://` and `rediss://`; an empty password is none. \
    Quotation marks around the whole value are left out.
    """,
    example: "redis://127.0.0.1:6379", isSet: true,
    "Where Redis is: redis://, rediss:// (TLS), unix:///path redis+sentinel://h1:p1,h2:p2/master or redis+cluster://h1:p1,h2:p2; user:password@ before the host."
  )
  package static let redisURLFile = Setting(
    "REDIS_URL_FILE", in: .redis, as: .path,
    """
    a file that contains the URL, with its password; used if `REDIS_URL` is absent. It is read for each \
    connection, so a password may change while the process runs
    """,
    example: "/etc/martlet/redis-url",
    "Instead of REDIS_URL: a file that contains it, readable by the services.")
  package static let storeURL = Setting(
    "REDIS_KV_REST_API_URL", in: .redis, as: .url,
    title: "`REDIS_KV_REST_API_URL`, `REDIS_KV_REST_API_TOKEN`",
    """
    used if neither is set: host of the URL (which has no user or password), port 6379, TLS, user `default`, \
    the token as password
    """,
    example: "https://example-12345.upstash.io",
    "Instead of REDIS_URL: a hosted store, port 6379 with TLS.")
  package static let storeToken = Setting(
    "REDIS_KV_REST_API_TOKEN", in: .redis, as: .secret,
    example: "",
    "Its password.")
  package static let redisAuthorities = Setting(
    "REDIS_CA_CERT", in: .redis, as: .pem,
    "PEM text or file: trusted in addition to the system's authorities",
    example: "/etc/martlet/redis-ca.pem",
    "Certificate authority of Redis, in addition to the system's: a PEM file.")
  package static let redisCertificate = Setting(
    "REDIS_CLIENT_CERT", in: .redis, as: .pem,
    title: "`REDIS_CLIENT_CERT`, `REDIS_CLIENT_KEY`",
    """
    PEM text or files for a Redis that asks clients for a certificate: [Client \
    certificates](redis.md#client-certificates)
    """,
    example: "/etc/martlet/redis-client.pem",
    "Certificate for a Redis that asks clients for one: a PEM file.")
  package static let redisKey = Setting(
    "REDIS_CLIENT_KEY", in: .redis, as: .privateKey,
    example: "/etc/martlet/redis-client-key.pem",
    "Its private key, a PEM file. Better: credentials/redis-client-key.pem, with the line of docs/systemd.md.")
  package static let keyID = Setting(
    "APNS_KEY_ID", in: .apns, aliases: ["CLAUDIATOR_APNS_KEY_ID", "keyId"],
    title: "`APNS_KEY_ID`, `APNS_TEAM_ID`",
    "ids of the provider key and its team; 10 letters and digits each",
    example: "ABC123DEFG",
    "Of the key: 10 letters and digits.")
  package static let teamID = Setting(
    "APNS_TEAM_ID", in: .apns, aliases: ["CLAUDIATOR_APNS_TEAM_ID", "teamId"],
    example: "DEF123GHIJ",
    "Of the developer account: 10 letters and digits.")
  package static let privateKey = Setting(
    "APNS_PRIVATE_KEY", in: .apns, as: .privateKey,
    title: "`APNS_PRIVATE_KEY` or `APNS_KEY_PATH`",
    #"""
    the key as PEM text (real line ends, or `\n` or `\r\n` in their place) or as base64 of that text, or its \#
    .p8 file
    """#,
    example: "",
    #"The key as text, with \n for line ends. Better: credentials/apns-key.p8."#)
  package static let keyPath = Setting(
    "APNS_KEY_PATH", in: .apns, as: .path, aliases: ["CLAUDIATOR_APNS_KEY_PATH"],
    example: "", isSet: true,
    "Polling-only mode. Remove this line to send: the units then set it to credentials/apns-key.p8, as a service sees it."
  )
  package static let bundleID = Setting(
    "APNS_BUNDLE_ID", in: .apns, aliases: ["CLAUDIATOR_APNS_BUNDLE_ID"],
    "default app of jobs and devices",
    example: "com.example.app",
    "App of jobs and devices that do not name one.")
  package static let apps = Setting(
    "MARTLET_APPS", in: .apns, as: .path,
    """
    JSON file with the [apps](apps.md) of several teams: their bundle ids, keys and gateways. The settings \
    above are for all other bundle ids. Read again on SIGHUP: [reload](apps.md#reload).
    """,
    example: "/etc/martlet/apps.json",
    "The apps of several teams, in place of or beside the key above. Read again on SIGHUP.")
  package static let sandbox = Setting(
    "APNS_USE_SANDBOX", in: .apns, as: .flag, aliases: ["CLAUDIATOR_APNS_SANDBOX"],
    """
    true: sandbox for devices registered without an environment. A sidecar for which this is set stores the \
    environment with the devices of the push API.
    """,
    example: "false",
    "true: the sandbox, for devices registered without an environment.")
  package static let gateway = Setting(
    "APNS_ENDPOINT_OVERRIDE", in: .apns, as: .url,
    """
    another gateway for both environments: `https://host[:port]`. Without the next one it \
    [answers for one environment](jobs.md#environments) only.
    """,
    example: "https://127.0.0.1:2197",
    "Another gateway, for example apns-simulator.")
  package static let sandboxGateway = Setting(
    "APNS_SANDBOX_ENDPOINT_OVERRIDE", in: .apns, as: .url,
    "another gateway for the sandbox; the same one if it answers for both environments",
    example: "https://127.0.0.1:2199",
    "Another gateway for the sandbox, or the same one.")
  package static let broadcastGateway = Setting(
    "APNS_BROADCAST_ENDPOINT_OVERRIDE", in: .apns, as: .url,
    """
    another origin for broadcasts to [channels](apps.md#channels), of both environments; by default the \
    gateways take them. `https://api-broadcast.push.apple.com` stands for Apple's host of each environment.
    """,
    example: "https://api-broadcast.push.apple.com",
    "Another origin for broadcasts to channels; by default the gateways take them.")
  package static let channelsGateway = Setting(
    "APNS_CHANNELS_ENDPOINT_OVERRIDE", in: .apns, as: .url,
    """
    another origin that manages channels, for both environments; default: Apple's servers, ports 2196 and for \
    the sandbox 2195
    """,
    example: "https://127.0.0.1:2196",
    "Another origin that manages channels.")
  package static let gatewayAuthorities = Setting(
    "APNS_CA_CERT", in: .apns, as: .pem,
    "PEM text or file: trusted in addition to the system's authorities",
    example: "/etc/martlet/apns-ca.pem",
    "Certificate authority of that gateway, in addition to the system's: a PEM file.")
  package static let queues = Setting(
    "MARTLET_QUEUES", in: .worker, as: .list,
    default: WorkerConfiguration.defaultQueues.joined(separator: ","),
    """
    1 to 16 lists in strict order; {}. A name has no spaces and \
    braces and does not begin with one of Martlet's [own keys](redis-keys.md). The sidecar, `enqueue` and \
    other commands read it too: use one value for all.
    """,
    example: "push:jobs:high,push:jobs,push:jobs:low",
    "Lists of jobs, in strict order; the same for all services. worker-N.env may give one worker other lists.")
  package static let recordMemory = Setting(
    "MARTLET_RECORD_MEMORY", in: .worker, as: .memory, default: "25%",
    """
    how much of Redis the records of accepted jobs may take: a percentage of `maxmemory` (without one, of the \
    machine's memory), a size such as `512mb` for each server, or `off`; {}. They live for \
    `MARTLET_RESULT_TTL` or as long as they fit at the fleet's present rate, whichever is shorter \
    ([memory](operations.md#when-redis-is-short-of-memory))
    """,
    "How much of Redis the records of accepted jobs may take: a percentage of maxmemory, a size such as 512mb, or off."
  )
  package static let httpAddress = Setting(
    "MARTLET_HTTP_ADDRESS", in: .sidecar, as: .address, default: "127.0.0.1:8080",
    """
    {}; also `[IPv6 address]:port` and `unix:/path` (mode 0660: the user of the service \
    and its group may connect); port 0 for any free port (logged). All interfaces are `0.0.0.0:port` or \
    `[::]:port`.
    """,
    "Where clients connect. All interfaces: 0.0.0.0:8080; then put a TLS proxy in front, or set a certificate.")
  package static let certificate = Setting(
    "MARTLET_HTTP_CERT", in: .sidecar, as: .path,
    title: "`MARTLET_HTTP_CERT`, `MARTLET_HTTP_KEY`",
    """
    PEM files: the certificate with its intermediate certificates, and its private key without passphrase. \
    With both, `MARTLET_HTTP_ADDRESS` and `MARTLET_DASHBOARD_ADDRESS` are HTTPS only; with neither, HTTP only. \
    Read again on SIGHUP: [TLS](operations.md#tls).
    """,
    example: "/etc/martlet/tls/fullchain.pem",
    "HTTPS in place of HTTP: PEM file of the certificate and its intermediate certificates. Read again on SIGHUP.")
  package static let certificateKey = Setting(
    "MARTLET_HTTP_KEY", in: .sidecar, as: .path,
    example: "/etc/martlet/tls/privkey.pem",
    "PEM file of its private key, without passphrase.")
  package static let trustedProxies = Setting(
    "MARTLET_TRUSTED_PROXIES", in: .sidecar, as: .list,
    """
    proxies whose `X-Forwarded-For` is trusted: addresses, CIDR blocks and `unix` (clients of a unix socket), \
    separated by commas; their connections have [no share](http/README.md#every-route) of one address; behind \
    one of them the [dashboard](dashboard.md#access) needs an operator
    """,
    example: "127.0.0.1",
    "Proxies whose X-Forwarded-For is trusted: addresses and CIDR blocks.")
  package static let allowedOrigins = Setting(
    "MARTLET_ALLOWED_ORIGINS", in: .sidecar, as: .list,
    title: "`MARTLET_ALLOWED_ORIGINS`, `MARTLET_PREVIEW_HOST_PREFIXES`, `MARTLET_TRUSTED_HOST_SUFFIXES`",
    "lists of the origin policy, separated by commas; empty by default",
    example: "https://example.com",
    "Of production: origins of browsers' pages.")
  package static let previewHostPrefixes = Setting(
    "MARTLET_PREVIEW_HOST_PREFIXES", in: .sidecar, as: .list,
    example: "",
    "Of preview: beginnings of host names.")
  package static let trustedHostSuffixes = Setting(
    "MARTLET_TRUSTED_HOST_SUFFIXES", in: .sidecar, as: .list,
    example: "",
    "Everywhere: ends of host names.")
  package static let broadcastIsOpen = Setting(
    "MARTLET_PUSH_SERVER_OPEN", in: .sidecar, as: .flag,
    "true: the [broadcast API](http/broadcast-api.md) needs no API key",
    example: "false",
    "true: the broadcast API needs no API key.")
  package static let backup = Setting(
    "MARTLET_PUSH_SERVER_BACKUP", in: .sidecar, as: .path,
    """
    a `backup.json` that the broadcast API [imports](http/broadcast-api.md#backup-file) for an app without \
    devices; a regular file
    """,
    example: "/etc/martlet/backup.json",
    "backup.json that the broadcast API imports for an app without devices.")
  package static let dashboardAddress = Setting(
    "MARTLET_DASHBOARD_ADDRESS", in: .dashboard, as: .address, default: "127.0.0.1:8081",
    """
    {}; also `[IPv6 address]:port` and `unix:/path` (mode 0660); port 0 for any free \
    port (logged); `off`: `martlet all` runs without it. On an address that other machines can reach, and on a \
    unix socket, it starts only if an [operator](dashboard.md#access) exists.
    """,
    "Pages for operators. Others can reach 0.0.0.0:8081; it then starts only if an operator exists. off: martlet all without it."
  )
  package static let adminAddress = Setting(
    "MARTLET_ADMIN_ADDRESS", in: .all, as: .address,
    """
    address of `/healthz`, `/readyz` and `/metrics`; default `127.0.0.1:9090`, of a sidecar alone \
    `127.0.0.1:9091`, of a dashboard alone `127.0.0.1:9092`; also `unix:/path` (mode 0660); `off`; port 0 for \
    any free port (logged)
    """,
    example: "127.0.0.1:9101",
    "/healthz, /readyz, /metrics. Not here: the units give each service its own port; other ones in worker-N.env and sidecar.env."
  )
  package static let timeZone = Setting(
    "MARTLET_TIME_ZONE", in: .worker,
    """
    time zone of times that people read and of [quiet hours](policy.md); default: `TZ`, else the system's, \
    else UTC; needs tzdata
    """,
    example: "Europe/Berlin",
    "The zone they are read in; without it the system's.")
  package static let logLevel = Setting(
    "MARTLET_LOG", in: .all,
    "`error`, `warn`, `info` (default) or `debug`; JSON lines on stderr, text on a terminal",
    example: "info",
    "error, warn, info or debug.")
}
