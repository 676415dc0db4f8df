import APNs
import EventLoop
import PushModel
import Redis
import Registry

/// Creates, adopts, compares and deletes the channels of an app, in each environment for which it has a key.
///
/// Whoever repeats a call that was interrupted completes it.
@EventLoop
struct ChannelControl {
  private let bundleID: String
  private let clients: [ChannelClient]
  private let channels: Channels

  init(bundleID: String, places: [ChannelPlace], connection: RedisClient) {
    self.bundleID = bundleID
    clients = places.map { ChannelClient($0) }
    channels = Channels(connection: connection)
  }

  /// The channels of the app, and why some environments could not be asked.
  struct Overview: Sendable {
    var entries: [ChannelEntry] = []
    var faults: [(environment: PushEnvironment, reason: String)] = []
  }

  /// Compares the channels in Redis with those of APNs.
  func list() async throws(RedisError) -> Overview {
    let known = try await channels.list(of: bundleID)
    var overview = Overview()
    for environment in PushEnvironment.allCases {
      var ids: [String]?
      if let client = client(for: environment) {
        do throws(ChannelError) { ids = try await client.list() } catch {
          overview.faults.append((environment, "\(error)"))
        }
      }
      overview.entries += ChannelEntry.compared(known, in: environment, with: ids)
    }
    return overview
  }

  /// Returns a channel; nil if there is none of this name.
  func channel(_ name: String) async throws(RedisError) -> Channel? {
    try await channels.channel(name, of: bundleID)
  }

  /// Asks APNs about a channel, in each environment in which it exists.
  func overview(of channel: Channel) async -> Overview {
    var overview = Overview()
    for environment in PushEnvironment.allCases {
      guard let id = channel.ids[environment] else { continue }
      var state = ChannelEntry.State.unknown
      do throws(ChannelError) {
        if try await client(for: environment)?.storage(of: id) != nil { state = .ok }
      } catch  where error.isOfUnknownChannel {
        state = .missing
      } catch {
        overview.faults.append((environment, "\(error)"))
      }
      overview.entries.append(
        ChannelEntry(name: channel.name, environment: environment, id: id, storage: channel.storage, state: state))
    }
    return overview
  }

  /// Creates the channel in each environment in which it does not exist.
  func create(_ name: String, _ storage: ChannelStorage) async throws(RedisError) -> [ChannelStep] {
    var steps: [ChannelStep] = []
    for client in clients {
      let environment = client.place.environment
      if let id = try await channel(name)?.ids[environment] {
        steps.append(ChannelStep(environment: environment, id: id, result: .exists))
      } else {
        steps.append(try await create(name, storage, with: client))
      }
    }
    return steps
  }

  private func create(
    _ name: String, _ storage: ChannelStorage, with client: ChannelClient
  ) async throws(RedisError) -> ChannelStep {
    let environment = client.place.environment
    let id: String
    do throws(ChannelError) { id = try await client.create(storage) } catch {
      var text = "\(error)"
      if case .uncertain = error { text += ". martlet channels list shows it as an orphan if it was created" }
      return ChannelStep(environment: environment, id: nil, result: .failed, fault: text)
    }
    let addition: Channels.Addition
    do throws(RedisError) {
      addition = try await channels.add(id, in: environment, storage: storage, to: name, of: bundleID)
    } catch {
      return ChannelStep(
        environment: environment, id: id,
        result: .failed, fault: "it was created, but Redis did not store it: \(error). \(ChannelControl.adoptionHint)")
    }
    switch addition {
    case .added: return ChannelStep(environment: environment, id: id, result: .created)
    case .taken, .otherStorage: break
    }
    // Another operator was faster. This one was given to nobody.
    do throws(ChannelError) { try await client.delete(id) } catch {
      return ChannelStep(
        environment: environment, id: id,
        result: .failed, fault: "another process has created the channel, and this one could not be deleted: \(error)")
    }
    guard case .taken(let other) = addition else {
      let text = "another process has created the channel with another storage policy"
      return ChannelStep(environment: environment, id: nil, result: .failed, fault: text)
    }
    return ChannelStep(environment: environment, id: other, result: .exists)
  }

  private static let adoptionHint = "Give it the name with martlet channels adopt"

  /// Gives a channel that APNs knows a name.
  func adopt(_ id: String, in environment: PushEnvironment, as name: String) async throws -> ChannelStep {
    func failed(_ text: String) -> ChannelStep {
      ChannelStep(environment: environment, id: id, result: .failed, fault: text)
    }
    guard let client = client(for: environment) else { return failed("no key of the app may manage channels there") }
    let known = try await channels.list(of: bundleID).first { $0.ids[environment] == id && $0.name != name }
    if let known { return failed("it is the channel \(known.name) already") }
    let storage: ChannelStorage
    do throws(ChannelError) { storage = try await client.storage(of: id) } catch { return failed("\(error)") }
    switch try await channels.add(id, in: environment, storage: storage, to: name, of: bundleID) {
    case .added: return ChannelStep(environment: environment, id: id, result: .adopted)
    case .taken(let other): return failed("\(name) is the channel \(other) there; delete that first")
    case .otherStorage(let other):
      return failed("its storage policy is \(storage.rawValue), and that of \(name) elsewhere \(other.rawValue)")
    }
  }

  /// Deletes a channel, for good, in each environment in which it exists.
  func delete(_ channel: Channel) async throws(RedisError) -> [ChannelStep] {
    var steps: [ChannelStep] = []
    for environment in PushEnvironment.allCases {
      guard let id = channel.ids[environment] else { continue }
      steps.append(try await delete(id, in: environment, of: channel.name))
    }
    return steps
  }

  /// Deletes the channel with this id wherever it exists, for good. No steps: APNs does not know it.
  func delete(id: String) async throws(RedisError) -> [ChannelStep] {
    let known = try await channels.list(of: bundleID)
    var steps: [ChannelStep] = []
    for client in clients {
      let environment = client.place.environment
      let name = known.first { $0.ids[environment] == id }?.name
      do throws(ChannelError) {
        let isListed = try await client.list().contains(id)
        guard isListed || name != nil else { continue }
      } catch {
        steps.append(ChannelStep(environment: environment, id: id, result: .failed, fault: "\(error)"))
        continue
      }
      steps.append(try await delete(id, in: environment, of: name))
    }
    return steps
  }

  private func delete(
    _ id: String, in environment: PushEnvironment, of name: String?
  ) async throws(RedisError) -> ChannelStep {
    guard let client = client(for: environment) else {
      let text = "no key of the app may manage channels there"
      return ChannelStep(environment: environment, id: id, result: .failed, fault: text)
    }
    var result = ChannelStep.Result.deleted
    do throws(ChannelError) { try await client.delete(id) } catch {
      guard error.isOfUnknownChannel else {
        return ChannelStep(environment: environment, id: id, result: .failed, fault: "\(error)")
      }
      result = .gone
    }
    if let name { try await channels.remove(id, in: environment, from: name, of: bundleID) }
    return ChannelStep(environment: environment, id: id, result: result)
  }

  private func client(for environment: PushEnvironment) -> ChannelClient? {
    clients.first { $0.place.environment == environment }
  }
}
