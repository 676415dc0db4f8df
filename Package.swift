// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .treatAllWarnings(as: .error),
  // All shared state is the event loop's, which runs one thing at a time. The tests run with the checks.
  .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

/// Full RELRO: the tables of addresses are bound at the start and cannot be overwritten later.
let hardened: [LinkerSetting] = [
  .unsafeFlags(["-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now"])
]

/// `files`: those that `CFiles` contains.
func module(_ name: String, _ dependencies: [Target.Dependency] = [], files: [String] = []) -> Target {
  .target(name: name, dependencies: dependencies, exclude: files, swiftSettings: strict)
}

func tests(_ module: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: "\(module)Tests", dependencies: [.byName(name: module)] + dependencies, swiftSettings: strict)
}

/// A feature that the program can be built without: `Sources/Parts/NAME`, with its tests in the folder `Tests`.
struct Part {
  let name: String
  let dependencies: [Target.Dependency]
  let tests: [Target.Dependency]

  var product: Target.Dependency { .byName(name: name) }

  var targets: [Target] {
    let path = "Sources/Parts/\(name)"
    return [
      .target(
        name: name, dependencies: dependencies + ["EventLoop", "Program"], path: path, exclude: ["Tests"],
        swiftSettings: strict),
      .testTarget(
        name: "\(name)Tests", dependencies: dependencies + [product, "EventLoop", "Program"] + tests,
        path: "\(path)/Tests", swiftSettings: strict),
    ]
  }
}

let parts: [Part] = [
  Part(
    name: "LiveActivities",
    dependencies: [
      "APNs", "Credentials", "Dashboard", "HTTPServer", "JSON", "Jobs", "Operations", "PushModel", "Queue", "Redis",
      "Registry", "Sidecar", "Telemetry", "Usage", "Worker",
    ],
    tests: ["Crypto", "DashboardSupport", "FleetSupport", "RedisSupport", "SidecarSupport", "TestSupport"]),
  Part(
    name: "Policies",
    dependencies: [
      "Dashboard", "JSON", "Jobs", "Credentials", "Operations", "PushModel", "Queue", "Redis", "Telemetry", "Worker",
    ],
    tests: ["DashboardSupport", "FleetSupport", "Registry", "TestSupport"]),
  Part(
    name: "QueueFormats", dependencies: ["Crypto", "JSON", "Jobs", "PushModel", "Worker"], tests: ["Redis"]),
  Part(
    name: "Imports", dependencies: ["Backup", "JSON", "PushModel", "Registry"],
    tests: ["BackupSupport", "FleetSupport", "Redis", "Telemetry", "TestSupport"]),
  Part(
    name: "Tracing",
    dependencies: ["APNs", "HTTPClient", "JSON", "Jobs", "PushModel", "Queue", "Registry", "Telemetry", "Worker"],
    tests: ["FleetSupport", "HTTPServer", "Redis", "TestSupport"]),
  Part(
    name: "Webhook",
    dependencies: [
      "Crypto", "Dashboard", "Events", "HTTPClient", "JSON", "Operations", "Redis", "Sidecar", "Telemetry", "Worker",
    ],
    tests: ["FleetSupport", "HTTPServer", "TestSupport"]),
  Part(
    name: "Gorush",
    dependencies: ["Credentials", "HTTPServer", "JSON", "Jobs", "PushModel", "Queue", "Redis", "Sidecar"],
    tests: ["FleetSupport", "SidecarSupport", "TestSupport"]),
  Part(
    name: "Matrix",
    dependencies: [
      "Credentials", "HTTPServer", "JSON", "Jobs", "PushModel", "Redis", "Registry", "Sidecar", "Telemetry",
    ],
    tests: ["Crypto", "FleetSupport", "Queue", "SidecarSupport", "TestSupport"]),
]

/// For support of tests that knows parts.
let definitions = parts.map { SwiftSetting.define("PART_\($0.name.uppercased())") }

let package = Package(
  name: "martlet",
  products: [
    .executable(name: "martlet", targets: ["Martlet"]),
    .executable(name: "apns-simulator", targets: ["Simulator"]),
    .executable(name: "martlet-bench", targets: ["Bench"]),
    .executable(name: "martlet-chaos", targets: ["Chaos"]),
  ],
  targets: [
    .systemLibrary(name: "CCurl"),
    // The files that the programs serve.
    .target(name: "CFiles", cSettings: [.unsafeFlags(["-std=c23"])]),
    .systemLibrary(name: "CGnuTLS"),
    .systemLibrary(name: "CHiredis"),
    .systemLibrary(name: "CNGHTTP2"),
    .systemLibrary(name: "COpenSSL"),
    .systemLibrary(name: "CMicroHTTPD"),

    module("EventLoop"),
    module("JSON"),
    module("Telemetry", ["EventLoop", "JSON"]),
    module("Crypto", ["COpenSSL"]),

    module("Redis", ["CHiredis", "COpenSSL", "Crypto", "EventLoop", "JSON", "Telemetry"]),
    module("HTTPClient", ["CCurl", "COpenSSL", "Crypto", "EventLoop"]),
    module("APNs", ["CGnuTLS", "CNGHTTP2", "Crypto", "EventLoop", "HTTPClient", "JSON", "PushModel", "Telemetry"]),
    module("HTTPServer", ["CMicroHTTPD", "Crypto", "EventLoop", "JSON", "Telemetry"]),

    module("PushModel"),

    module("Jobs", ["Crypto", "JSON", "PushModel"]),
    module("Events", ["EventLoop", "JSON", "Redis", "Telemetry"]),
    module("Credentials", ["Crypto", "EventLoop", "JSON", "PushModel", "Redis", "Telemetry"]),
    module("Registry", ["EventLoop", "Events", "JSON", "PushModel", "Redis", "Telemetry"]),
    module("Backup", ["Credentials", "EventLoop", "Jobs", "JSON", "PushModel", "Redis", "Registry"]),
    module("Queue", ["EventLoop", "Events", "JSON", "Jobs", "PushModel", "Redis", "Telemetry"]),
    module(
      "Operations",
      [
        "APNs", "Credentials", "Crypto", "EventLoop", "JSON", "Jobs", "PushModel", "Queue",
        "Redis", "Registry",
      ]),

    module(
      "Sidecar",
      [
        "Backup", "CFiles", "Credentials", "Crypto", "EventLoop", "Events", "HTTPServer", "Jobs", "JSON",
        "PushModel", "Queue", "Redis", "Registry", "Telemetry",
      ],
      files: ["openapi.json"]),
    module(
      "Dashboard",
      [
        "CFiles", "Credentials", "Crypto", "EventLoop", "Events", "HTTPServer", "JSON", "Jobs", "Operations",
        "PushModel", "Queue", "Redis", "Registry", "Telemetry",
      ],
      files: ["style.css", "jobs.css", "fleet.css", "dashboard.js", "icon.svg"].map { "Assets/\($0)" }),
    module(
      "Worker",
      [
        "APNs", "Credentials", "Crypto", "EventLoop", "Events", "HTTPClient", "HTTPServer", "Jobs",
        "JSON",
        "PushModel", "Queue", "Redis", "Registry", "Telemetry",
      ]),

    // The command lines of the programs.
    module("Usage", ["JSON"]),

    // What the program and its parts share.
    module(
      "Program",
      [
        "APNs", "Backup", "Credentials", "Crypto", "Dashboard", "EventLoop", "HTTPClient", "HTTPServer", "JSON", "Jobs",
        "Operations", "PushModel", "Queue", "Redis", "Registry", "Sidecar", "Telemetry", "Usage", "Worker",
      ]),
    .executableTarget(
      name: "Martlet",
      dependencies: [
        "Program", "APNs", "Backup", "CFiles", "Credentials", "Crypto", "Dashboard", "EventLoop", "Events",
        "HTTPClient",
        "HTTPServer",
        "JSON", "Jobs", "Operations", "PushModel", "Queue", "Redis", "Registry", "Sidecar", "Telemetry", "Usage",
        "Worker",
      ] + parts.map(\.product),
      swiftSettings: strict, linkerSettings: hardened),
    .executableTarget(
      name: "Simulator",
      dependencies: [
        "CNGHTTP2", "COpenSSL", "Crypto", "EventLoop", "HTTPClient", "HTTPServer", "JSON", "Telemetry", "Usage",
      ],
      swiftSettings: strict, linkerSettings: hardened),
    .executableTarget(
      name: "Bench", dependencies: ["APNs", "EventLoop", "HTTPClient", "PushModel", "Telemetry"], path: "Tools/Bench",
      swiftSettings: strict),
    .executableTarget(
      name: "Chaos", dependencies: ["EventLoop", "JSON", "Redis", "Telemetry", "TestSupport"], path: "Tools/Chaos",
      swiftSettings: strict),

    // For apps, which take its one file. Not shipped; `SidecarTests` tries it.
    .target(
      name: "MartletDevice", path: "clients/ios",
      swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]),
    .target(
      name: "TestSupport", dependencies: ["PushModel", "Telemetry"], path: "Tests/TestSupport", swiftSettings: strict),
    .target(
      name: "RedisSupport", dependencies: ["EventLoop", "Redis", "Telemetry", "TestSupport"],
      path: "Tests/RedisSupport", swiftSettings: strict),
    .target(
      name: "SidecarSupport",
      dependencies: [
        "Credentials", "Crypto", "EventLoop", "HTTPServer", "JSON", "Jobs", "PushModel", "Redis", "RedisSupport",
        "Registry", "Sidecar", "Telemetry", "TestSupport",
      ],
      path: "Tests/SidecarSupport", swiftSettings: strict),
    .target(
      name: "DashboardSupport",
      dependencies: [
        "Credentials", "Dashboard", "EventLoop", "HTTPServer", "JSON", "Redis", "RedisSupport", "Registry", "Telemetry",
        "TestSupport",
      ],
      path: "Tests/DashboardSupport", swiftSettings: strict),
    // The program's processes.
    .target(
      name: "FleetSupport",
      dependencies: [
        "Credentials", "EventLoop", "Events", "HTTPServer", "JSON", "Jobs", "Operations", "Queue", "Redis",
        "RedisSupport", "Registry", "Telemetry", "TestSupport",
      ],
      path: "Tests/FleetSupport", swiftSettings: strict + definitions),
    .target(
      name: "RegistrySupport",
      dependencies: [
        "EventLoop", "Events", "JSON", "PushModel", "Redis", "RedisSupport", "Registry", "Telemetry", "TestSupport",
      ],
      path: "Tests/RegistrySupport", swiftSettings: strict),
    tests("EventLoop"),
    tests("Telemetry", ["EventLoop", "TestSupport"]),
    tests("JSON"),
    tests("Usage"),
    tests("Crypto", ["TestSupport"]),
    tests("Redis", ["EventLoop", "RedisSupport", "Telemetry", "TestSupport"]),
    tests("HTTPClient", ["COpenSSL", "Crypto", "EventLoop", "HTTPServer", "Telemetry", "TestSupport"]),
    tests("APNs", ["CNGHTTP2", "COpenSSL", "EventLoop", "HTTPClient", "PushModel", "Telemetry", "TestSupport"]),
    tests("HTTPServer", ["Crypto", "EventLoop", "Telemetry", "TestSupport"]),
    tests("Jobs", ["Crypto", "JSON", "PushModel", "TestSupport"]),
    tests("Events", ["EventLoop", "JSON", "Redis", "Telemetry", "TestSupport"]),
    .target(
      name: "QueueSupport", dependencies: ["EventLoop", "Queue", "Redis", "RedisSupport", "TestSupport"],
      path: "Tests/QueueSupport", swiftSettings: strict),
    tests(
      "Queue",
      [
        "EventLoop", "Jobs", "PushModel", "QueueSupport", "Redis", "RedisSupport", "Telemetry", "TestSupport",
      ]),
    tests(
      "Operations",
      [
        "Credentials", "EventLoop", "Jobs", "PushModel", "Queue", "QueueSupport", "Redis",
        "RedisSupport", "Registry", "Telemetry", "TestSupport",
      ]),
    tests(
      "Registry",
      [
        "Backup", "EventLoop", "Events", "JSON", "PushModel", "Redis", "RedisSupport", "RegistrySupport", "Telemetry",
        "TestSupport",
      ]),
    tests(
      "Credentials",
      ["EventLoop", "Redis", "RedisSupport", "Registry", "RegistrySupport", "Telemetry", "TestSupport"]),
    .target(
      name: "BackupSupport", dependencies: ["Backup", "JSON", "Registry"], path: "Tests/BackupSupport",
      swiftSettings: strict),
    tests(
      "Backup",
      [
        "BackupSupport", "EventLoop", "JSON", "PushModel", "Redis", "RedisSupport", "Registry", "RegistrySupport",
        "Telemetry",
        "TestSupport",
      ]),
    tests(
      "Sidecar",
      [
        "Credentials", "Crypto", "EventLoop", "HTTPServer", "Jobs", "JSON", "MartletDevice", "PushModel",
        "Queue", "Redis",
        "RedisSupport", "Registry", "SidecarSupport", "Telemetry", "TestSupport",
      ]),
    tests(
      "Dashboard",
      [
        "DashboardSupport", "Credentials", "Crypto", "EventLoop", "Events", "HTTPServer", "JSON", "Jobs", "Operations",
        "PushModel",
        "Queue", "Redis", "RedisSupport", "Registry", "Telemetry", "TestSupport",
      ]),
    tests("Simulator", ["COpenSSL", "EventLoop", "HTTPServer", "JSON", "Telemetry", "TestSupport", "Usage"]),
    tests("Chaos", ["EventLoop", "JSON", "Redis", "RedisSupport", "Telemetry", "TestSupport"]),
    tests(
      "Worker",
      [
        "APNs", "EventLoop", "Events", "HTTPClient", "JSON", "Jobs", "PushModel", "Queue", "Registry",
        "FleetSupport", "TestSupport",
      ]),
    tests(
      "Martlet",
      [
        "APNs", "Credentials", "Crypto", "EventLoop", "Events", "HTTPClient", "HTTPServer", "Jobs", "JSON",
        "FleetSupport", "Operations", "Program", "PushModel", "Queue", "Redis", "RedisSupport", "Registry",
        "Sidecar", "Telemetry", "TestSupport", "Usage", "Worker",
      ]),
    // All parts together.
    .testTarget(
      name: "PartsTests",
      dependencies: [
        "APNs", "Credentials", "Crypto", "EventLoop", "Events", "FleetSupport", "HTTPServer", "JSON", "Jobs",
        "Martlet", "Program", "PushModel", "Queue", "Redis", "RedisSupport", "Registry", "Sidecar", "SidecarSupport",
        "Simulator", "Telemetry", "TestSupport", "Usage",
      ],
      path: "Tests/PartsTests", swiftSettings: strict),
  ] + parts.flatMap(\.targets),
  swiftLanguageModes: [.v6]
)

/// The modules that fuzzing reads inputs with.
let fuzzed: [Target.Dependency] = [
  "APNs", "Backup", "Credentials", "EventLoop", "HTTPServer", "JSON", "Jobs", "Operations", "PushModel",
  "Queue", "Redis", "Registry", "Sidecar",
]

/// What calls C, and what its tests need.
let sanitized: Set = [
  "CCurl", "CGnuTLS", "CHiredis", "CNGHTTP2", "COpenSSL", "CMicroHTTPD", "EventLoop", "Telemetry", "JSON", "Crypto",
  "Redis", "PushModel", "APNs", "HTTPClient", "HTTPServer", "Simulator", "Usage", "TestSupport", "EventLoopTests",
  "CryptoTests",
  "RedisTests", "RedisSupport", "HTTPClientTests", "APNsTests", "HTTPServerTests",
]

// `make fuzz` and `make sanitize` build only what they need. The fuzzer has the sources of the tests that read its corpus.
switch Context.environment["MARTLET_BUILD"] {
case "fuzz":
  package.products.append(.executable(name: "martlet-fuzz", targets: ["Fuzz"]))
  package.targets.append(
    .executableTarget(
      name: "Fuzz", dependencies: fuzzed + parts.map(\.product), path: "Tests/Fuzz",
      exclude: ["Replay", "State", "corpus", "dictionaries", "run"],
      sources: ["Targets", "Engine"], swiftSettings: strict + definitions))
case "sanitize":
  package.products.removeAll { $0.name != "apns-simulator" }
  package.targets.removeAll { !sanitized.contains($0.name) }
default:
  package.targets.append(
    .testTarget(
      name: "FuzzTests", dependencies: fuzzed + parts.map(\.product), path: "Tests/Fuzz",
      exclude: ["Engine", "State", "corpus", "dictionaries", "run"], sources: ["Targets", "Replay"],
      swiftSettings: strict + definitions))
}
