public import EventLoop
public import Jobs
public import Registry

/// Sends at once, by the delivery code of the worker.
@EventLoop
public protocol DirectSender {
  /// Whether at least one connection to APNs stands.
  var isConnected: Bool { get }

  /// Sends `payload` as an alert to every device, at most `concurrency` at a time, and takes devices that APNs calls stale
  /// out of the registry.
  func send(_ payload: [UInt8], to devices: [Device], concurrency: Int) async -> DirectReport
}
