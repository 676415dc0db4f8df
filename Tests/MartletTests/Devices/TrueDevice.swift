import PushModel
import Registry
import TestSupport

/// A registered device and what it is at APNs.
struct TrueDevice: Sendable {
  enum Life {
    case live
    /// The app was removed from the device.
    case unregistered
    /// No environment knows the token.
    case unknown
  }

  /// The second one is an app of MARTLET_APPS.
  static let apps = ["com.example.demo", "com.example.second"]
  private static let lives: [Life] = [.live, .live, .live, .live, .live, .live, .live, .live, .unregistered, .unknown]

  let token: String
  let user: String
  let environment: PushEnvironment
  let bundleID: String
  let kind: DeviceKind
  let life: Life
  /// As it was registered: unknown, right or wrong.
  private let registeredEnvironment: PushEnvironment?

  init(_ token: String, of user: String, using generator: inout SeededGenerator) {
    self.token = token
    self.user = user
    environment = PushEnvironment.allCases[generator.below(2)]
    bundleID = TrueDevice.apps[generator.below(TrueDevice.apps.count)]
    kind = DeviceKind.ofDevices[generator.below(DeviceKind.ofDevices.count)]
    life = TrueDevice.lives[generator.below(TrueDevice.lives.count)]
    registeredEnvironment = [nil, environment, environment.other][generator.below(3)]
  }

  var binding: SimulatedGateway.Token {
    .init(token, environment: environment.rawValue, bundleID: bundleID, kind: kind.rawValue)
  }

  var metadata: DeviceMetadata {
    DeviceMetadata(
      username: Username(user), platform: .ios, updatedAt: 1_700_000_000_000, bundleID: bundleID,
      environment: registeredEnvironment, kind: kind)
  }

  /// A push type that its own topic has.
  private var pushType: PushType { PushType.allCases.first { $0.kind == kind } ?? .alert }

  /// A job that is right for it in every respect.
  var rightJob: [UInt8] {
    Array(
      #"{"to":{"token":"\#(token)"},"pushType":"\#(pushType)","payload":\#(WrongJob.payload)}"#.utf8)
  }
}

/// A job with any addressee, app and push type, right ones among them.
struct WrongJob {
  /// Valid for every push type.
  static let payload = #"{"aps":{"alert":"x","content-available":1,"content-changed":true}}"#
  private static let types = PushType.allCases.filter { $0 != .mdm }

  let json: [UInt8]

  init(to device: TrueDevice, using generator: inout SeededGenerator) {
    let addressees = [
      #""token":"\#(device.token)""#, #""user":"\#(device.user)""#,
      #""user":"\#(device.user)","token":"\#(device.token)""#,
    ]
    let addressee = addressees[generator.below(addressees.count)]
    let app = ([nil, "com.example.unknown"] + TrueDevice.apps)[generator.below(4)]
    let type = WrongJob.types[generator.below(WrongJob.types.count)]
    json = Array(
      (#"{"to":{\#(addressee)},"pushType":"\#(type)","payload":\#(WrongJob.payload)"#
        + (app.map { #","app":"\#($0)""# } ?? "") + "}").utf8)
  }
}
