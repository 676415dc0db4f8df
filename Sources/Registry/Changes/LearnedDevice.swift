public import PushModel

/// A device to which a push was accepted, as it was when it was read.
struct LearnedDevice: Sendable, Equatable {
  /// Empty if it has none.
  let owner: Username
  /// Unix milliseconds.
  let updatedAt: Int64
  /// Nil if it was unknown.
  let environment: PushEnvironment?
}

/// A device, and the environment in which APNs accepted a push to it.
public struct AcceptedDevice: Sendable, Equatable {
  /// As it was read before the push.
  public let device: Device
  public let environment: PushEnvironment
  /// Nil for a device of a user, an app or nobody.
  public let instance: String?

  public init(_ device: Device, in environment: PushEnvironment, instance: String? = nil) {
    self.device = device
    self.environment = environment
    self.instance = instance
  }

  var instanceOperation: (String, InstanceOperation)? {
    instance.map { ($0, .learn(environment, token: device.token, updatedAt: device.updatedAt)) }
  }

  var tokenOperation: TokenOperation? {
    guard instance == nil else { return nil }
    let known = LearnedDevice(
      owner: device.username ?? .nobody, updatedAt: device.updatedAt, environment: device.environment)
    return (device.token.text, .learn(environment, known))
  }
}
