public import PushModel

/// The result of a push to one device.
public struct DeviceResult: Sendable, Equatable {
  public let token: DeviceToken
  public let ok: Bool
  /// The status of APNs' answer; 0 if there was no answer.
  public let status: Int
  public let apnsID: String
  /// APNs' reason or Martlet's own; nil if the push was accepted.
  public let reason: String?
  /// `apns-unique-id`, by which Apple's console finds the push; nil for production, where APNs sends none.
  public let uniqueID: String?

  public init(token: DeviceToken, ok: Bool, status: Int, apnsID: String, reason: String? = nil, uniqueID: String? = nil)
  {
    self.token = token
    self.ok = ok
    self.status = status
    self.apnsID = apnsID
    self.reason = reason
    self.uniqueID = uniqueID
  }
}

/// How a push counts in a job's result.
public enum DeviceOutcome: Sendable {
  case accepted
  /// Refused for good.
  case failed
  /// Refused for good because the token is not valid any more; counts as failed too.
  case stale
  /// Written to APNs and never answered: it may have been delivered.
  case uncertain
}

/// The results of pushes that were sent without a job.
public struct DirectReport: Sendable, Equatable {
  /// In the order of the devices.
  public let results: [DeviceResult]
  public let staleRemoved: Int

  public init(results: [DeviceResult], staleRemoved: Int) {
    self.results = results
    self.staleRemoved = staleRemoved
  }
}
