import JSON
import Program
import Sidecar
import Testing

@testable import Worker
@testable import Martlet

struct OriginSettingsTests {
  @Test func `lists are separated by commas`() throws {
    let settings = try SidecarSettings(environment: [
      "MARTLET_ENV": "Preview", "MARTLET_ALLOWED_ORIGINS": "https://a.example, http://b.example:8080 ,",
      "MARTLET_PREVIEW_HOST_PREFIXES": "a-,b-", "MARTLET_TRUSTED_HOST_SUFFIXES": ".c.example",
    ])
    #expect(settings.sidecar.originPolicy.environment == .preview)
    #expect(settings.sidecar.originPolicy.allowedOrigins == ["https://a.example", "http://b.example:8080"])
    #expect(settings.sidecar.originPolicy.previewHostPrefixes == ["a-", "b-"])
    #expect(settings.sidecar.originPolicy.trustedHostSuffixes == [".c.example"])
  }

  @Test(arguments: ["a.example", "https://a.example/", "https://a.example/path", "*", "https://*.a.example"])
  func `an origin that browsers do not send is a fault`(origin: String) {
    let error = #expect(throws: ConfigurationFaults.self) {
      try SidecarSettings(environment: ["MARTLET_ALLOWED_ORIGINS": "https://good.example,\(origin)"])
    }
    #expect(error?.faults.map(\.place) == ["MARTLET_ALLOWED_ORIGINS"])
    #expect(error?.faults.first?.seen == "'\(origin)'")
  }
}
