public import JSON

/// How many requests an API key may send to `/devices`, and how many jobs to other APIs, counted over all sidecars.
public struct KeyQuota: Sendable, Equatable {
  /// docs/http/device-api.md: 100 a second, bursts of 200, 10,000 a day.
  public static let standard = KeyQuota(perSecond: 100, burst: 200, perDay: 10_000)

  public let perSecond: Int
  public let burst: Int
  public let perDay: Int

  public init(perSecond: Int, burst: Int, perDay: Int) {
    self.perSecond = perSecond
    self.burst = burst
    self.perDay = perDay
  }

  /// Reads `{"perSecond","burst","perDay"}`. Missing numbers are those of ``standard``.
  init(_ value: JSONValue?) {
    func number(_ key: String, _ fallback: Int) -> Int { value?[key]?.count ?? fallback }
    self.init(
      perSecond: number("perSecond", KeyQuota.standard.perSecond), burst: number("burst", KeyQuota.standard.burst),
      perDay: number("perDay", KeyQuota.standard.perDay))
  }

  public var json: JSONObject { ["perSecond": perSecond, "burst": burst, "perDay": perDay] }
}

/// What an API key may be used for.
public enum KeyScope: String, Sendable, CaseIterable {
  /// The device registration API: `/devices`.
  case devices
  /// `/newtoken`.
  case tokens
  /// `/newpush`: a broadcast.
  case push
  /// Jobs to any device: an API that enqueues jobs.
  case jobs
}
