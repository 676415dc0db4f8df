import JSON
import Program
import Testing

@testable import Tracing

/// The settings of the export of spans.
struct TracingSettingsTests {
  private func configuration(_ values: [String: String]) throws(ConfigurationFaults) -> TracingConfiguration? {
    var reader = EnvironmentReader(values)
    let tracing = TracingSettings.read(&reader)
    guard reader.faults.isEmpty else { throw ConfigurationFaults(reader.faults) }
    return tracing
  }

  @Test func `without an endpoint nothing is exported`() throws {
    #expect(try configuration(["OTEL_SERVICE_NAME": "shop", "OTEL_TRACES_SAMPLER_ARG": "1"]) == nil)
  }

  @Test func `everything is read`() throws {
    let found = try configuration([
      "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318/", "OTEL_SERVICE_NAME": "shop-push",
      "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abc=, x-tenant = a%2Cb ", "OTEL_TRACES_SAMPLER_ARG": "0.25",
    ])
    let tracing = try #require(found)
    #expect(tracing.url == "http://127.0.0.1:4318/v1/traces")
    #expect(tracing.serviceName == "shop-push")
    #expect(
      tracing.headers == [
        .init(name: "authorization", value: "Bearer abc="), .init(name: "x-tenant", value: "a,b"),
      ])
    #expect(tracing.ratio == 0.25)
  }

  @Test func `the defaults record only traces of producers`() throws {
    let tracing = try #require(try configuration(["OTEL_EXPORTER_OTLP_ENDPOINT": "https://otel.example:4318"]))
    #expect((tracing.serviceName, tracing.ratio, tracing.headers.isEmpty) == ("martlet", 0, true))
  }

  @Test(arguments: [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://collector:4317"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector/?x=1"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a b/"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "secret"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=b,c d=secret"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "a=secret%0d%0aX: y"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=secret%zz"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "a=secret%2"), ("OTEL_TRACES_SAMPLER_ARG", "2"),
    ("OTEL_TRACES_SAMPLER_ARG", "-0.1"), ("OTEL_TRACES_SAMPLER_ARG", "nan"), ("OTEL_TRACES_SAMPLER_ARG", "all"),
  ])
  func `an invalid value is a fault that shows no secret`(name: String, value: String) {
    let faults = #expect(throws: ConfigurationFaults.self) { try configuration([name: value]) }
    #expect(faults?.faults.map(\.place) == [name])
    #expect(faults?.text.contains("secret") == false)
  }
}
