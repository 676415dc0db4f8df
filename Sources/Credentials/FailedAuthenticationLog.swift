import EventLoop
import Telemetry

/// Logs failed authentications: the first at once, later ones once a minute with their number.
@EventLoop
final class FailedAuthenticationLog {
  private static let maximumAddresses = 5

  private let log: Log
  private let interval: Duration
  private var timer: LoopTimer?
  private var failures = 0
  private var refused = 0
  private var addresses: [String] = []

  init(_ log: Log, interval: Duration = .seconds(60)) {
    self.log = log
    self.interval = interval
  }

  /// Records an invalid secret, or with `isRefused` a secret that was not even checked.
  func record(from address: String, isRefused: Bool) {
    if isRefused { refused += 1 } else { failures += 1 }
    if addresses.count < FailedAuthenticationLog.maximumAddresses, !addresses.contains(address) {
      addresses.append(address)
    }
    if timer == nil { flush() }
  }

  /// Logs what was recorded, and then nothing until the interval has passed.
  func flush() {
    guard failures + refused > 0 else {
      timer = nil
      return
    }
    // Operator: Nothing, unless it lasts: then a client has an old secret, or someone guesses. `addresses` lists up
    // to 5. `refused` counts attempts over the limit.
    log.warn(
      "authentication failed",
      ["failures": .init(failures), "refused": .init(refused), "addresses": .init(addresses.joined(separator: ", "))])
    (failures, refused, addresses) = (0, 0, [])
    timer = .after(interval) { [weak self] in self?.flush() }
  }
}
