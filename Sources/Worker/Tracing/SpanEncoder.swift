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
    var json = JSONWriter(capacity: 512 + spans.count * 768)
    json.beginObject()
    json.key("resourceSpans")
    json.beginArray()
    json.beginObject()
    json.key("resource")
    json.beginObject()
    SpanEncoder.write(resource, to: &json)
    json.endObject()
    json.key("scopeSpans")
    json.beginArray()
    json.beginObject()
    json.key("scope")
    json.beginObject()
    json.key("name")
    json.string(SpanEncoder.scope)
    json.key("version")
    json.string(version)
    json.endObject()
    json.key("spans")
    json.beginArray()
    for span in spans { SpanEncoder.write(span, to: &json) }
    json.endArray()
    json.endObject()
    json.endArray()
    json.endObject()
    json.endArray()
    json.endObject()
    return json.bytes
  }

  private static func write(_ span: Span, to json: inout JSONWriter) {
    json.beginObject()
    json.key("traceId")
    json.string(span.traceID)
    json.key("spanId")
    json.string(span.id)
    if let parentID = span.parentID {
      json.key("parentSpanId")
      json.string(parentID)
    }
    json.key("name")
    json.string(span.name)
    json.key("kind")
    json.integer(span.kind.rawValue)
    json.key("startTimeUnixNano")
    json.string(String(span.start))
    json.key("endTimeUnixNano")
    json.string(String(span.end))
    write(span.attributes, to: &json)
    if let error = span.error {
      json.key("status")
      json.beginObject()
      json.key("code")
      json.integer(failed)
      json.key("message")
      json.string(error)
      json.endObject()
    }
    json.endObject()
  }

  private static func write(_ attributes: [Span.Attribute], to json: inout JSONWriter) {
    json.key("attributes")
    json.beginArray()
    for attribute in attributes {
      json.beginObject()
      json.key("key")
      json.string(attribute.key)
      json.key("value")
      json.beginObject()
      switch attribute.value {
      case .string(let string):
        json.key("stringValue")
        json.string(string)
      case .integer(let integer):
        json.key("intValue")
        json.string(String(integer))
      }
      json.endObject()
      json.endObject()
    }
    json.endArray()
  }
}
