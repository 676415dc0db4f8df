/// The outcome of pushes that were sent without a job.
public struct DirectReport: Sendable, Equatable {
  /// In the order of the devices.
  public let results: [DeviceResult]
  public let staleRemoved: Int

  public init(results: [DeviceResult], staleRemoved: Int) {
    self.results = results
    self.staleRemoved = staleRemoved
  }
}
