import EventLoop
public import Telemetry

/// What an ``HTTPApplication`` counts.
public struct RequestMetrics {
  private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]

  private let requests: LabelledCounterFamily
  private let durations: Histogram

  /// The labels of `requests` are `method`, `route` and `status`, in this order.
  public init(requests: LabelledCounterFamily, durations: Histogram) {
    self.requests = requests
    self.durations = durations
  }

  @EventLoop
  func count<Endpoint>(_ request: RoutedRequest<Endpoint>, status: Int, since start: UInt64) {
    let method = RequestMetrics.methods.contains(request.method) ? request.method : "OTHER"
    requests[method, request.route, String(status)].increment()
    durations.record(nanoseconds: Clock.monotonicNanoseconds - start)
  }
}
