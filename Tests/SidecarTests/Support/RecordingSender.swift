import EventLoop
import Jobs
import PushModel
import Registry
import Sidecar

/// A sender that records its calls and returns the configured results.
@EventLoop
final class RecordingSender: DirectSender {
  struct Call: Equatable {
    let payload: String
    let tokens: [String]
    let concurrency: Int
  }

  let isConnected = true
  private(set) var calls: [Call] = []
  var staleRemoved = 0
  /// The answers for refused tokens. Other tokens are accepted.
  var refusals: [String: (status: Int, reason: String)] = [:]

  func send(_ payload: [UInt8], to devices: [Device], concurrency: Int) async -> DirectReport {
    calls.append(
      Call(
        payload: String(decoding: payload, as: UTF8.self), tokens: devices.map(\.token.text), concurrency: concurrency))
    let results = devices.map { device in
      let refusal = refusals[device.token.text]
      return DeviceResult(
        token: device.token, ok: refusal == nil, status: refusal?.status ?? 200,
        apnsID: refusal?.status == 0 ? "" : "id-of-\(device.token)", reason: refusal?.reason)
    }
    return DirectReport(results: results, staleRemoved: staleRemoved)
  }
}
