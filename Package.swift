// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .treatAllWarnings(as: .error),
]

/// Full RELRO: the tables of addresses are bound at the start and cannot be overwritten later.
let hardened: [LinkerSetting] = [
  .unsafeFlags(["-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now"])
]

func room(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []) -> Target {
  .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func tests(_ room: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: "\(room)Tests", dependencies: [.byName(name: room), "TestSupport"] + dependencies,
    swiftSettings: strict)
}

let package = Package(
  name: "martlet",
  products: [
    .executable(name: "martlet", targets: ["Worker"]),
    .executable(name: "apns-simulator", targets: ["Simulator"]),
    .executable(name: "martlet-bench", targets: ["Bench"]),
  ],
  targets: [
    .systemLibrary(name: "CCurl"),
    .systemLibrary(name: "CHiredis"),
    .systemLibrary(name: "CNGHTTP2"),
    .systemLibrary(name: "COpenSSL"),
    .systemLibrary(name: "CMicroHTTPD"),

    room("EventLoop"),
    room("Telemetry", ["EventLoop"]),
    room("JSON"),
    room("Crypto", ["COpenSSL"]),
    room("Redis", ["CHiredis", "COpenSSL", "Crypto", "EventLoop", "Telemetry"]),
    room("APNs", ["CCurl", "CNGHTTP2", "COpenSSL", "Crypto", "EventLoop", "JSON", "Telemetry"]),
    room("HTTPServer", ["CMicroHTTPD", "EventLoop", "Telemetry"]),
    room("Jobs", ["EventLoop", "JSON", "Redis", "Telemetry"]),
    room("Registry", ["Crypto", "EventLoop", "JSON", "Redis", "Telemetry"]),
    room(
      "Sidecar", ["Crypto", "EventLoop", "HTTPServer", "JSON", "Jobs", "Redis", "Registry", "Telemetry"],
      resources: [.embedInCode("openapi.json")]),
    .executableTarget(
      name: "Worker",
      dependencies: [
        "APNs", "EventLoop", "HTTPServer", "JSON", "Jobs", "Redis", "Registry", "Sidecar", "Telemetry",
      ],
      swiftSettings: strict, linkerSettings: hardened),
    .executableTarget(
      name: "Simulator",
      dependencies: ["CNGHTTP2", "COpenSSL", "EventLoop", "HTTPServer", "JSON", "Telemetry"],
      swiftSettings: strict, linkerSettings: hardened),
    .executableTarget(name: "Bench", dependencies: ["APNs", "EventLoop", "Telemetry"], swiftSettings: strict),

    .target(name: "TestSupport", dependencies: ["EventLoop"], path: "Tests/TestSupport", swiftSettings: strict),
    tests("EventLoop"),
    tests("Telemetry", ["EventLoop"]),
    tests("JSON"),
    tests("Crypto"),
    tests("Redis"),
    tests("APNs", ["COpenSSL", "JSON"]),
    tests("HTTPServer"),
    tests("Jobs", ["JSON", "Redis"]),
    tests("Registry", ["Redis"]),
    tests("Sidecar", ["Crypto", "HTTPServer", "JSON", "Jobs", "Redis", "Registry", "Telemetry"]),
    tests("Simulator", ["JSON"]),
    tests("Worker", ["JSON", "Jobs", "Redis", "Registry"]),
  ],
  swiftLanguageModes: [.v6]
)
