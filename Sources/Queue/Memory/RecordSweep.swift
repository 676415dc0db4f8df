import EventLoop
import Events
import JSON
import Redis
import Telemetry

/// Makes room in servers that are short of memory: removes records of accepted jobs before they expire, the oldest first, and cuts
/// streams. One worker of the fleet does that, at a limited rate.
@EventLoop
final class RecordSweep {
  /// Between two parts of a pass, which take Redis a few milliseconds each.
  private static let pause = Duration.milliseconds(100)
  /// After a pass that found nothing to remove.
  private static let idlePause = Duration.seconds(60)
  /// Records that are compared to find the oldest of them. Redis lists keys in no order, so they stand for all.
  static let sample = 200

  private let connection: RedisClient
  private let log: Log
  private var task: Task<Void, Never>?
  private var isRunning = false
  private var idleUntil: UInt64 = 0

  init(connection: RedisClient, log: Log) {
    self.connection = connection
    self.log = log
  }

  /// Makes room in these servers, unless that is going on.
  func start(servers: [Int]) {
    guard !isRunning, Clock.monotonicNanoseconds >= idleUntil else { return }
    isRunning = true
    task = EventLoop.start { [weak self] in
      await self?.run(servers)
      self?.isRunning = false
    }
  }

  func stop() { task?.cancel() }

  func close() async { await task?.value }

  private func run(_ servers: [Int]) async {
    do throws(RedisError) {
      var removed = 0
      for server in servers {
        removed += try await makeRoom(server, among: .accepted)
        // What is left are jobs and devices, or the records of other jobs.
        if try await share(of: server) >= MemoryStage.shortShare {
          removed += try await makeRoom(server, among: .ended)
        }
        removed += try await cutStreams(server)
      }
      if removed > 0 {
        log.info("removed records and notes to make room in Redis", ["removed": .init(removed)])
      } else {
        idleUntil = Clock.monotonicNanoseconds + RecordSweep.idlePause.unsignedNanoseconds
      }
    } catch {
      // Operator: See `error`: the worker's user of Redis lacks a [right](redis.md#new-rights).
      log.warn("Redis is short of memory, and making room failed", ["error": .init("\(error)")])
    }
  }

  private func share(of server: Int) async throws(RedisError) -> Double {
    ServerMemory(try await connection.info(ofServer: server, section: "memory"))?.share ?? 0
  }

  // MARK: - Records

  /// Looks once through all records of a server, and removes the older half of each sample until there is room. Returns how many.
  private func makeRoom(_ server: Int, among kind: QueueScripts.Kind) async throws(RedisError) -> Int {
    var (cursor, removed) = ("0", 0)
    var found: [FoundRecord] = []
    repeat {
      guard !Task.isCancelled, try await share(of: server) > MemoryStage.relaxedShare else { return removed }
      let page = try await connection.keys(like: QueueKeys.result("*"), type: "string", server: server, from: cursor)
      cursor = page.next
      found += try await ends(of: page.keys, kind)
      if found.count >= RecordSweep.sample || cursor == "0" {
        removed += try await remove(FoundRecord.olderHalf(of: found))
        found = []
      }
      do { try await Task.sleep(for: RecordSweep.pause) } catch { return removed }
    } while cursor != "0"
    return removed
  }

  private func ends(of keys: [[UInt8]], _ kind: QueueScripts.Kind) async throws(RedisError) -> [FoundRecord] {
    let replies = await EventLoop.gather(keys) { [connection] key, reply in
      connection.send(QueueScripts.endOfRecord(record: key, kind: kind.rawValue), reply)
    }
    var found: [FoundRecord] = []
    for (key, reply) in zip(keys, replies) {
      guard let at = try reply.absentIfWrongType().string?.integer(in: NumberRange.times) else { continue }
      found.append(FoundRecord(key: key, finishedAt: at))
    }
    return found
  }

  private func remove(_ records: [FoundRecord]) async throws(RedisError) -> Int {
    let replies = await EventLoop.gather(records) { [connection] record, reply in
      connection.send(QueueScripts.removeRecord(record: record.key, finishedAt: record.finishedAt), reply)
    }
    var count = 0
    for reply in replies { count += try reply.absentIfWrongType().count ?? 0 }
    return count
  }

  // MARK: - Streams

  /// Cuts the stream of events and those of notification records to a tenth. Returns how many entries were removed.
  private func cutStreams(_ server: Int) async throws(RedisError) -> Int {
    var (cursor, removed) = ("0", 0)
    repeat {
      guard !Task.isCancelled, try await share(of: server) > MemoryStage.relaxedShare else { return removed }
      let page = try await connection.keys(type: "stream", server: server, from: cursor)
      cursor = page.next
      for key in page.keys {
        guard let most = RecordSweep.entries(ofStream: String(decoding: key, as: UTF8.self)) else { continue }
        let cut = RedisCommand("XTRIM", [key]).with("MAXLEN").with("~").with(most)
        removed += try await connection.send(cut).count ?? 0
      }
      do { try await Task.sleep(for: RecordSweep.pause) } catch { return removed }
    } while cursor != "0"
    return removed
  }
}

extension RecordSweep {
  /// How many entries stay in a stream that is cut; nil for a stream that is not Martlet's.
  static func entries(ofStream key: String) -> Int? {
    if key == EventStream.key { return EventStream.maximumLength / 10 }
    return QueueKeys.isNotifications(key) ? QueueLimits.maximumNotifications / 10 : nil
  }
}

/// A record that may be removed before it expires.
struct FoundRecord: Equatable {
  let key: [UInt8]
  /// Unix ms.
  let finishedAt: Int64

  static func olderHalf(of records: [FoundRecord]) -> [FoundRecord] {
    Array(records.sorted { $0.finishedAt < $1.finishedAt }.prefix((records.count + 1) / 2))
  }
}
