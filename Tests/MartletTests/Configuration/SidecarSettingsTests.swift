import HTTPServer
import JSON
import Program
import Registry
import Sidecar
import Testing

@testable import Worker
@testable import Martlet
@testable import Credentials
@testable import PushModel

struct SidecarSettingsTests {
  @Test func `both services in one process report the faults of both at once, each once`() {
    let error = #expect(throws: ConfigurationFaults.self) {
      try AllConfiguration(environment: [
        "MARTLET_CONCURRENCY": "many", "MARTLET_LOG": "loud", "MARTLET_ENV": "staging",
        "MARTLET_HTTP_ADDRESS": "nowhere",
        "APNS_SEND_CONCURRENCY": "21", "PUSH_METADATA_LOOKUP_CONCURRENCY": "0",
      ])
    }
    #expect(
      error?.faults.map(\.place).sorted() == [
        "APNS_SEND_CONCURRENCY", "MARTLET_CONCURRENCY", "MARTLET_ENV", "MARTLET_HTTP_ADDRESS", "MARTLET_LOG",
        "PUSH_METADATA_LOOKUP_CONCURRENCY", "REDIS_URL",
      ])
  }

  @Test(arguments: ["-", "https://user:word@host/backup.json", "a\nb"])
  func `a backup path that is not a file is a fault`(path: String) {
    let error = #expect(throws: ConfigurationFaults.self) {
      try SidecarSettings(environment: ["MARTLET_PUSH_SERVER_BACKUP": path])
    }
    #expect(error?.faults.map(\.place) == ["MARTLET_PUSH_SERVER_BACKUP"])
    #expect(error?.text.contains("word") == false)
  }

  @Test func `MARTLET_MAX_DEVICES is 100 by default and 1,000 at most`() throws {
    #expect(try SidecarSettings(environment: [:]).maximumDevices == 100)
    #expect(try SidecarSettings(environment: ["MARTLET_MAX_DEVICES": "1000"]).maximumDevices == 1000)
    for wrong in ["0", "1001", "many"] {
      let error = #expect(throws: ConfigurationFaults.self) {
        try SidecarSettings(environment: ["MARTLET_MAX_DEVICES": wrong])
      }
      #expect(error?.faults.map(\.place) == ["MARTLET_MAX_DEVICES"])
    }
  }

  @Test func `a fault of one service is reported`() {
    let error = #expect(throws: ConfigurationFaults.self) {
      try AllConfiguration(environment: ["REDIS_URL": "redis://localhost", "MARTLET_ENV": "staging"])
    }
    #expect(error?.faults.map(\.place) == ["MARTLET_ENV"])
  }

  @Test func `without settings the sidecar has defaults and names what is missing`() throws {
    let settings = try SidecarSettings(environment: [:])
    #expect(settings.service.redis == nil)
    #expect(settings.sidecar.missingRedisVariables == ["REDIS_KV_REST_API_URL", "REDIS_KV_REST_API_TOKEN"])
    #expect(
      settings.sidecar.missingAPNsVariables == ["APNS_KEY_ID", "APNS_TEAM_ID", "APNS_BUNDLE_ID", "APNS_PRIVATE_KEY"])
    #expect(settings.sidecar.listener.address.description == "127.0.0.1:8080")
    #expect(settings.sidecar.sendConcurrency == 4)
    #expect(settings.sidecar.lookupConcurrency == 8)
    #expect(!settings.sidecar.isBroadcastOpen)
    #expect(settings.sidecar.originPolicy.environment == .development)
    #expect(settings.service.shutdownGrace == .seconds(25))
  }

  @Test(
    arguments: [
      (["REDIS_KV_REST_API_URL": "https://store.example"], ["REDIS_KV_REST_API_TOKEN"]),
      (["REDIS_KV_REST_API_TOKEN": "t"], ["REDIS_KV_REST_API_URL"]),
      (["REDIS_KV_REST_API_URL": "https://store.example", "REDIS_KV_REST_API_TOKEN": "t"], []),
      (["REDIS_URL": "redis://localhost"], []),
    ] as [([String: String], [String])])
  func `half of the key-value store's pair is reported with its missing half`(
    values: [String: String], missing: [String]
  ) throws {
    let settings = try SidecarSettings(environment: values)
    #expect(settings.sidecar.missingRedisVariables == missing)
    #expect((settings.service.redis == nil) == !missing.isEmpty)
  }

  @Test(arguments: [nil, "true", "1", "false"])
  func `a setting names the environment in which devices are tried first`(value: String?) throws {
    var values: [String: String] = [:]
    values["APNS_USE_SANDBOX"] = value
    let settings = try SidecarSettings(environment: values)
    #expect(settings.sidecar.defaultEnvironment == (value == "true" || value == "1" ? .sandbox : .production))
  }

  @Test func `limits have defaults and can be changed or turned off`() throws {
    let usual = try SidecarSettings(environment: [:]).sidecar
    #expect(usual.failureLimit == WindowLimit(20, per: .seconds(60)))
    #expect(usual.registrationLimit == WindowLimit(120, per: .seconds(60)))
    #expect(usual.testLimit == WindowLimit(60, per: .seconds(60)))
    #expect(usual.broadcastLimit == WindowLimit(600, per: .seconds(60)))
    #expect(usual.listener.trustedProxies == TrustedProxies())
    let changed = try SidecarSettings(environment: [
      "MARTLET_AUTH_FAILURE_LIMIT": "5/30s", "MARTLET_REGISTER_LIMIT": " off ", "MARTLET_TEST_LIMIT": "1/24h",
      "MARTLET_BROADCAST_LIMIT": "OFF", "MARTLET_TRUSTED_PROXIES": "10.0.0.0/8, ::1,unix",
    ]).sidecar
    #expect(changed.failureLimit == WindowLimit(5, per: .seconds(30)))
    #expect(changed.registrationLimit == nil)
    #expect(changed.testLimit == WindowLimit(1, per: .seconds(86_400)))
    #expect(changed.broadcastLimit == nil)
    var proxies = TrustedProxies()
    for word in ["10.0.0.0/8", "::1", "unix"] where !proxies.add(word) { Issue.record("\(word) is not added") }
    #expect(changed.listener.trustedProxies == proxies)
  }

  @Test(arguments: [
    "20", "/1m", "20/", "0/1m", "-1/1m", "20/0s", "20/1m/1", "many/1m", "20/1y", "1.5/1m", "9999999/1m",
  ])
  func `the fault of an invalid limit quotes it`(text: String) {
    let names = [
      "MARTLET_AUTH_FAILURE_LIMIT", "MARTLET_REGISTER_LIMIT", "MARTLET_TEST_LIMIT", "MARTLET_BROADCAST_LIMIT",
    ]
    let error = #expect(throws: ConfigurationFaults.self) {
      try SidecarSettings(environment: Dictionary(uniqueKeysWithValues: names.map { ($0, text) }))
    }
    #expect(error?.faults.map(\.place) == names)
    #expect(error?.faults.allSatisfy { $0.seen == "'\(text)'" } == true)
  }

  @Test func `each invalid proxy is a fault`() {
    let error = #expect(throws: ConfigurationFaults.self) {
      try SidecarSettings(environment: ["MARTLET_TRUSTED_PROXIES": "10.0.0.0/33, proxy.example, 10.0.0.1"])
    }
    #expect(error?.faults.map(\.seen) == ["'10.0.0.0/33'", "'proxy.example'"])
  }
}
