public import PushModel

/// A device to which a push was sent, as it was when it was read.
struct LearnedDevice: Sendable, Equatable {
  /// Empty if it has none.
  let owner: Username
  /// Unix milliseconds.
  let updatedAt: Int64
  /// Nil if it was unknown.
  let environment: PushEnvironment?
}

/// What answers of APNs have shown of a device.
public enum DeviceFinding: Sendable, Equatable {
  case accepted(PushEnvironment)
  /// No environment that could be asked with this reach knows the token, but one that it may be of could not be asked.
  case unreachable(reach: Int64)

  var unreachable: Int64? { if case .unreachable(let reach) = self { reach } else { nil } }
}

/// A device, and what answers of APNs have shown of it.
public struct AnsweredDevice: Sendable, Equatable {
  /// As it was read before the push.
  public let device: Device
  public let finding: DeviceFinding
  /// Nil for a device of a user, an app or nobody.
  public let instance: String?

  public init(_ device: Device, _ finding: DeviceFinding, instance: String? = nil) {
    self.device = device
    self.finding = finding
    self.instance = instance
  }

  var instanceOperation: (String, InstanceOperation)? {
    instance.map { ($0, .learn(finding, token: device.token, updatedAt: device.updatedAt)) }
  }

  var tokenOperation: TokenOperation? {
    guard instance == nil else { return nil }
    let known = LearnedDevice(
      owner: device.username ?? .nobody, updatedAt: device.updatedAt, environment: device.environment)
    return (device.token.text, .learn(finding, known))
  }
}
