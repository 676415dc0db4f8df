import EventLoop
import TestSupport

/// Moves devices between users through the sidecar, and enqueues jobs for both users after each change.
@EventLoop
final class Movers {
  /// A request without a good answer may take effect until Redis has read all it was sent.
  private static let settling = Duration.seconds(12)
  private static let pause = 300...1500

  private let sidecar: SidecarClient
  private let producer: Producer
  private var generator: SeededGenerator
  private var tasks: [Task<Void, Never>] = []
  private(set) var timeline = OwnershipTimeline()
  private(set) var changes = 0
  private(set) var unconfirmed = 0

  init(seed: UInt64, sidecar: SidecarClient, producer: Producer) {
    self.sidecar = sidecar
    self.producer = producer
    generator = SeededGenerator(seed: seed &+ 1)
  }

  func start(_ devices: [Population.MovingDevice]) {
    for device in devices {
      tasks.append(Task { @EventLoop in await self.move(device) })
    }
  }

  func stop() async {
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }

  private func move(_ device: Population.MovingDevice) async {
    var owner: HardName?
    while !Task.isCancelled {
      let next = successor(of: owner, device)
      if await change(device, from: owner, to: next) {
        owner = next
        // The user who lost the device must not get another push on it, the other one must.
        for user in device.users { producer.enqueue(to: user, device: device.token) }
        try? await Task.sleep(for: .milliseconds(Int.random(in: Movers.pause, using: &generator)))
      } else {
        try? await Task.sleep(for: Movers.settling)
      }
    }
  }

  /// Mostly the other user, sometimes nobody.
  private func successor(of owner: HardName?, _ device: Population.MovingDevice) -> HardName? {
    guard let owner else { return device.users.randomElement(using: &generator) }
    return Int.random(in: 0..<4, using: &generator) == 0 ? nil : device.users.first { $0 != owner }
  }

  /// Returns whether the change was confirmed.
  private func change(_ device: Population.MovingDevice, from owner: HardName?, to next: HardName?) async -> Bool {
    let requested = Clock.unixNanoseconds
    let user = next ?? owner ?? device.users[0]
    let status =
      if next != nil {
        await sidecar.register(device.token, to: user, phone: Population.phone(of: device.token))
      } else {
        await sidecar.unregister(device.token, of: user)
      }
    changes += 1
    if status != 200 { unconfirmed += 1 }
    timeline.append(
      next == nil ? .unregister : .register, user, device.token, requested: requested,
      confirmed: status == 200 ? Clock.unixNanoseconds : nil)
    return status == 200
  }
}
