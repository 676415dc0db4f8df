import HTTPClient
import JSON
import Program

/// The settings of the export of spans, by the names that OpenTelemetry gives them.
enum TracingSettings {
  /// Returns nil without an endpoint, or with faults.
  static func read(_ reader: inout EnvironmentReader) -> TracingConfiguration? {
    let headers = readHeaders(&reader)
    let share = "a number from 0 to 1, the share of the jobs without a trace"
    let ratio = reader.value(TracingPart.ratio, expected: share) { $0.number(in: 0...1) }
    let address = "http://host:port or https://host:port, without a query"
    guard let url = reader.value(TracingPart.endpoint, expected: address, { isEndpoint($0) ? $0 : nil }) else {
      return nil
    }
    return TracingConfiguration(
      endpoint: url, headers: headers, serviceName: reader.text(TracingPart.serviceName) ?? "martlet",
      serviceVersion: Version.current, ratio: ratio ?? 0)
  }

  private static func isEndpoint(_ url: String) -> Bool {
    do throws(HTTPClientError) {
      try HTTPCall.check(url: url)
      return !url.contains { $0 == "?" || $0 == "#" }
    } catch {
      return false
    }
  }

  /// `name=value,name=value`; the values may have percent escapes.
  private static func readHeaders(_ reader: inout EnvironmentReader) -> [TracingConfiguration.Header] {
    guard let value = reader.text(TracingPart.headers) else { return [] }
    var found: [TracingConfiguration.Header] = []
    for part in value.split(separator: ",") {
      guard let header = header(part) else {
        reader.report(
          TracingPart.headers.name, wrong: value, expected: "name=value, several of them separated by commas")
        return []
      }
      found.append(header)
    }
    return found
  }

  static func header(_ text: some StringProtocol) -> TracingConfiguration.Header? {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = EnvironmentReader.trimmed(parts[0]), HTTPCall.isHeader(name: name),
      let value = String(percentDecoding: EnvironmentReader.trimmed(parts[1]) ?? ""), HTTPCall.isHeader(value: value)
    else { return nil }
    return TracingConfiguration.Header(name: name, value: value)
  }
}
