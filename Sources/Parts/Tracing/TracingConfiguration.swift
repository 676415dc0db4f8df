import HTTPClient

/// Where spans are sent, and for which jobs.
struct TracingConfiguration: Sendable, Equatable {
  /// The URL of the collector, http or https. Spans are sent to `/v1/traces` below it.
  var endpoint: String
  /// Sent with each request.
  var headers: [Header]
  var serviceName: String
  var serviceVersion: String
  /// The share of the jobs without a producer's trace that are recorded, from 0 to 1.
  var ratio: Double

  struct Header: Sendable, Equatable {
    var name: String
    var value: String

    init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  init(
    endpoint: String, headers: [Header] = [], serviceName: String = "martlet", serviceVersion: String = "",
    ratio: Double = 0
  ) {
    self.endpoint = endpoint
    self.headers = headers
    self.serviceName = serviceName
    self.serviceVersion = serviceVersion
    self.ratio = ratio
  }

  /// The endpoint without user, password and path, for logs.
  var origin: String { WebAddress(endpoint)?.origin ?? "" }

  /// The URL that spans are sent to.
  var url: String { (endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint) + "/v1/traces" }
}
