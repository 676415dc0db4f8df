import EventLoop
import TestSupport

/// Devices of both environments, of which the registrations do not know it, and their jobs.
///
/// A phone that gets another build of its app has a new token, of the other environment. Its old one stays valid: APNs says
/// later that the old build is gone, and a run ends before.
@EventLoop
final class Builds {
  private static let pause = 300...1500
  /// Before a registration is tried again.
  private static let retryPause = Duration.milliseconds(500)

  private struct Device {
    let token: String
    let user: HardName
    let environment: String
    var other: String { environment == "production" ? "sandbox" : "production" }
  }

  private let fleet: ChaosFleet
  private let producer: Producer
  private let users: [HardName]
  private var generator: SeededGenerator
  /// Those whose registration was confirmed.
  private var devices: [Device] = []
  /// Of each user; the last is that of the present build.
  private var newest: [Device] = []
  private var count = 0
  private var task: Task<Void, Never>?
  /// One line for each registration.
  private(set) var lines: [String] = []

  init(seed: UInt64, users: [HardName], fleet: ChaosFleet, producer: Producer) {
    self.users = users
    self.fleet = fleet
    self.producer = producer
    generator = SeededGenerator(seed: seed &+ 2)
  }

  var tokens: [String] { devices.map(\.token) }

  /// Registers the first builds: half of them are of the sandbox.
  func register() async throws {
    for (number, user) in users.enumerated() {
      try await fleet.sidecar.add(user: user)
      newest.append(try await install(of: user, number.isMultiple(of: 2) ? "production" : "sandbox"))
    }
  }

  func start() {
    guard !devices.isEmpty else { return }
    task = Task { @EventLoop in
      while !Task.isCancelled {
        if let device = devices.randomElement(using: &generator) {
          producer.enqueue(toDevice: device.token, of: device.user)
        }
        let time = Int.random(in: Builds.pause, using: &generator) / users.count
        try? await Task.sleep(for: .milliseconds(time))
      }
    }
  }

  func stop() async {
    task?.cancel()
    await task?.value
  }

  /// Gives `number` phones a build of the other environment, or a wrong environment to a registration that exists.
  func change(_ number: Int) async throws {
    for _ in 0..<number {
      let index = Int.random(in: 0..<newest.count, using: &generator)
      if Bool.random(using: &generator) {
        newest[index] = try await install(of: newest[index].user, newest[index].other)
      } else if let device = devices.randomElement(using: &generator) {
        await register(device, as: device.other)
      }
    }
  }

  private func install(of user: HardName, _ environment: String) async throws -> Device {
    count += 1
    let device = Device(token: Population.token(.build, count), user: user, environment: environment)
    for gateway in fleet.gateways {
      try await gateway.bind([.init(device.token, environment: environment, bundleID: Population.app)])
    }
    await register(device, as: [nil, device.environment, device.other].randomElement(using: &generator) ?? nil)
    devices.append(device)
    producer.enqueue(toDevice: device.token, of: user)
    return device
  }

  /// Returns when the registration was confirmed.
  private func register(_ device: Device, as environment: String?) async {
    var status = 0
    while status != 200 {
      status = await fleet.sidecar.register(device.token, to: device.user, environment: environment)
      lines.append(
        "\(Clock.unixNanoseconds) \(device.token) of \(device.user), \(device.environment), "
          + "registered as \(environment ?? "unknown"): \(status)")
      if status != 200 { try? await Task.sleep(for: Builds.retryPause) }
    }
  }
}
