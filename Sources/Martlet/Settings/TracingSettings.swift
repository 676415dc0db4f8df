import HTTPClient
import HTTPServer
import JSON
import Worker

/// The settings of the export of spans, by the names that OpenTelemetry gives them.
enum TracingSettings {
  private static let endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
  private static let headers = "OTEL_EXPORTER_OTLP_HEADERS"
  private static let serviceName = "OTEL_SERVICE_NAME"
  private static let ratio = "OTEL_TRACES_SAMPLER_ARG"

  /// Returns nil without an endpoint, or with faults.
  static func read(_ reader: inout EnvironmentReader) -> TracingConfiguration? {
    let headers = readHeaders(&reader)
    let ratio = readRatio(&reader)
    guard let url = reader.url(endpoint) else { return nil }
    guard isEndpoint(url) else {
      reader.report(endpoint, wrong: url, expected: "http://host:port or https://host:port, without a query")
      return nil
    }
    return TracingConfiguration(
      endpoint: url, headers: headers, serviceName: reader.string(serviceName) ?? "martlet",
      serviceVersion: Version.current, ratio: ratio)
  }

  private static func isEndpoint(_ url: String) -> Bool {
    do throws(HTTPClientError) {
      try HTTPCall.check(url: url)
      return !url.contains { $0 == "?" || $0 == "#" }
    } catch {
      return false
    }
  }

  private static func readRatio(_ reader: inout EnvironmentReader) -> Double {
    guard let value = reader.string(ratio) else { return 0 }
    guard let number = value.number(in: 0...1) else {
      reader.report(ratio, wrong: value, expected: "a number from 0 to 1, the share of the jobs without a trace")
      return 0
    }
    return number
  }

  /// `name=value,name=value`; the values may have percent escapes.
  private static func readHeaders(_ reader: inout EnvironmentReader) -> [TracingConfiguration.Header] {
    guard let value = reader.secret(headers) else { return [] }
    var found: [TracingConfiguration.Header] = []
    for part in value.split(separator: ",") {
      guard let header = header(part) else {
        reader.report(headers, wrong: value, expected: "name=value, several of them separated by commas")
        return []
      }
      found.append(header)
    }
    return found
  }

  static func header(_ text: some StringProtocol) -> TracingConfiguration.Header? {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = EnvironmentReader.trimmed(parts[0]), HTTPCall.isHeader(name: name),
      let value = FormEncoding.decoded(EnvironmentReader.trimmed(parts[1]) ?? ""), HTTPCall.isHeader(value: value)
    else { return nil }
    return TracingConfiguration.Header(name: name, value: value)
  }
}
