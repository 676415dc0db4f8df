package import EventLoop
package import Jobs
import PushModel
package import Registry
import Sidecar

/// A sender that records its calls and returns the configured results.
@EventLoop
package final class RecordingSender: DirectSender {
  package struct Call: Equatable {
    package let payload: String
    package let tokens: [String]
    package let concurrency: Int
  }

  package let isConnected = true
  package private(set) var calls: [Call] = []
  package var staleRemoved = 0
  /// The answers for refused tokens. Other tokens are accepted.
  package var refusals: [String: (status: Int, reason: String)] = [:]

  package init() {}

  package func send(_ payload: [UInt8], to devices: [Device], concurrency: Int) async -> DirectReport {
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
