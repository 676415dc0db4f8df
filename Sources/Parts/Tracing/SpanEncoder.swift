import JSON

/// Writes spans as OTLP/HTTP JSON: the ProtoJSON of `ExportTraceServiceRequest`, with ids in hexadecimal digits and 64-bit
/// numbers as strings.
struct SpanEncoder: Sendable {
  private static let scope = "martlet"
  private static let failed: Int64 = 2

  /// Attributes of the process that sends the spans.
  let resource: [Span.Attribute]
  let version: String

  /// - Parameter instance: distinguishes the processes of a service.
  init(serviceName: String, version: String, instance: String) {
    resource = [
      .init(key: "service.name", value: .string(serviceName)), .init(key: "service.version", value: .string(version)),
      .init(key: "service.instance.id", value: .string(instance)),
    ]
    self.version = version
  }

  func json(_ spans: some Collection<Span>) -> [UInt8] {
    let scope: JSONObject = [
      "scope": ["name": SpanEncoder.scope, "version": version] as JSONObject, "spans": spans.map(SpanEncoder.object),
    ]
    let resource: JSONObject = [
      "resource": ["attributes": resource.map(SpanEncoder.object)] as JSONObject, "scopeSpans": [scope],
    ]
    let request: JSONObject = ["resourceSpans": [resource]]
    return request.bytes
  }

  private static func object(_ span: Span) -> JSONObject {
    [
      "traceId": span.traceID, "spanId": span.id, "parentSpanId": span.parentID, "name": span.name,
      "kind": span.kind.rawValue, "startTimeUnixNano": String(span.start), "endTimeUnixNano": String(span.end),
      "attributes": span.attributes.map(object),
      "status": span.error.map { ["code": failed, "message": $0] as JSONObject },
    ]
  }

  private static func object(_ attribute: Span.Attribute) -> JSONObject {
    let value: JSONObject =
      switch attribute.value {
      case .string(let string): ["stringValue": string]
      case .integer(let integer): ["intValue": String(integer)]
      }
    return ["key": attribute.key, "value": value]
  }
}
