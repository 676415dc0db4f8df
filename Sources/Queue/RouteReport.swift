public import JSON

/// A route to APNs that a worker has trouble with.
public struct RouteReport: Sendable, Equatable {
  /// Of a list in a report, the most that are read.
  static let maximumListed = 20

  public var environment: String
  public var topic: String
  /// APNs' reason.
  public var reason: String
  /// Unix ms.
  public var since: Int64

  public init(environment: String, topic: String, reason: String, since: Int64) {
    self.environment = environment
    self.topic = topic
    self.reason = reason
    self.since = since
  }

  /// Nil for a value that is none.
  init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string, let topic = value["topic"]?.string,
      let reason = value["reason"]?.string, let since = value["since"]?.integer
    else { return nil }
    self.init(environment: environment, topic: topic, reason: reason, since: since)
  }

  static func list(_ value: JSONValue?) -> [RouteReport] {
    (value?.array ?? []).prefix(maximumListed).compactMap(RouteReport.init)
  }

  /// `"<key>":[{"environment","topic","reason","since"}]`
  public static func write(_ routes: [RouteReport], key: StaticString, to writer: inout JSONWriter) {
    writer.key(key)
    writer.beginArray()
    for route in routes {
      writer.beginObject()
      route.writeMembers(to: &writer)
      writer.endObject()
    }
    writer.endArray()
  }

  public func writeMembers(to writer: inout JSONWriter) {
    writer.key("environment")
    writer.string(environment)
    writer.key("topic")
    writer.string(topic)
    writer.key("reason")
    writer.string(reason)
    writer.key("since")
    writer.integer(since)
  }
}
