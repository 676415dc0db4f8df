import TestSupport

/// The users and devices of a run.
struct Population: Sendable {
  static let broadcastApp = "com.example.everyone"
  /// Of devices that name none: the simulator's.
  static let app = "com.example.demo"
  private static let users = 24
  private static let devicesPerUser = 3
  private static let movingDevices = 10
  private static let builders = 12
  private static let audience = 700
  /// The number of keys over which the registry spreads the devices of an app, and its journal.
  private static let shards = 16

  /// A device that two users take from each other.
  struct MovingDevice: Sendable {
    let token: String
    let users: [HardName]
  }

  /// Users whose devices never change.
  let users: [(name: HardName, devices: [String])]
  let moving: [MovingDevice]
  /// Users of whom each has a phone that gets other builds of its app.
  let builders: [HardName]
  /// Anonymous devices of one app.
  let audience: [String]

  init() {
    var names = HardNames.users(Population.users + 2 * Population.movingDevices + Population.builders)[...]
    // Neighbours, which are easily taken for each other, take a device from each other.
    moving = (0..<Population.movingDevices).map {
      MovingDevice(token: Population.token(.moving, $0), users: [names.removeFirst(), names.removeFirst()])
    }
    builders = (0..<Population.builders).map { _ in names.removeFirst() }
    users = names.enumerated().map { user, name in
      (name, (0..<Population.devicesPerUser).map { Population.token(.user, user * 10 + $0) })
    }
    audience = (0..<Population.audience).map { Population.token(.audience, $0) }
  }

  enum Group: Int {
    case user = 1
    case moving, audience, single, build
  }

  /// 64 hexadecimal digits.
  static func token(_ group: Group, _ number: Int) -> String {
    hexadecimal(group.rawValue) + hexadecimal(number)
  }

  private static func hexadecimal(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: max(0, 32 - digits.count)) + digits
  }

  /// Devices that stay registered.
  var lasting: [String] { users.flatMap(\.devices) + audience }

  /// The phone of a device that is a user's.
  static func phone(of token: String) -> String { HardNames.phone(Int(token.suffix(8), radix: 16) ?? 0) }

  var allUsers: [HardName] { users.map(\.name) + moving.flatMap(\.users) }

  /// Keys of users, devices, journals of the registry and the audience, as docs/redis-keys.md names them; those that
  /// belong together follow each other.
  var keys: [String] {
    moving.flatMap { ["push:token:\($0.token)"] + $0.users.map { "push:user:\($0):tokens" } }
      + (0..<Population.shards).map { "martlet:{registry:\($0)}:journal" }
      + users.flatMap { ["push:user:\($0.name):tokens"] + $0.devices.map { "push:token:\($0)" } }
      + (0..<Population.shards).map { "push:app:\(Population.broadcastApp):tokens:\($0)" }
  }
}
