import JSON
import Redis
import Testing

@testable import Queue

struct RecordMemoryTests {
  private static let mega = Int64(1 << 20)

  @Test func `records get a share of what the server may use, or of the machine`() {
    #expect(RecordMemory.standard.budget(of: ServerMemory(used: 1, maximum: 400, machine: 8000)) == 100)
    #expect(RecordMemory.standard.budget(of: ServerMemory(used: 1, machine: 8000)) == 2000)
    #expect(RecordMemory.standard.budget(of: ServerMemory(used: 1)) == nil)
    #expect(RecordMemory.bytes(70).budget(of: ServerMemory(used: 1)) == 70)
    #expect(RecordMemory.unlimited.budget(of: ServerMemory(used: 1, maximum: 400)) == nil)
  }

  @Test func `what replicas and the append-only file buffer does not count`() {
    let text = "used_memory:1000\r\nmaxmemory:2000\r\nmem_not_counted_for_evict:300\r\ntotal_system_memory:9000\r\n"
    #expect(ServerMemory(ServerInfo(text)) == ServerMemory(used: 700, maximum: 2000, machine: 9000))
    #expect(ServerMemory(ServerInfo("used_memory:1000\r\nmaxmemory:0\r\n")) == ServerMemory(used: 1000))
    #expect(ServerMemory(ServerInfo("")) == nil)
  }

  @Test func `records live as long as they fit`() {
    func lifetime(_ budget: Double, _ perSecond: Double) -> Duration {
      AffordableLifetime.affordable(budget, .init(average: perSecond, latest: perSecond), atMost: .seconds(86_400))
    }
    #expect(lifetime(10e6, 0) == .seconds(86_400))
    #expect(lifetime(10e6, 100) == .seconds(86_400))
    #expect(lifetime(10e6, 1000) == .seconds(10_000))
    #expect(lifetime(10e6, 500_000) == .seconds(20))
    #expect(lifetime(10e6, 1e12) == .seconds(1))
  }

  @Test func `a burst counts at once if it would fill much of the budget, else by its average`() {
    var rate = RecordRate()
    rate.add(600_000)
    let second = rate.look(after: 1)
    #expect(second.latest == 600_000 && second.average == 10_000)
    #expect(second.counting(within: 1e6) == 600_000)
    #expect(second.counting(within: 1e9) == 10_000)
    for _ in 0..<600 { _ = rate.look(after: 1) }
    #expect(rate.look(after: 1).average < 1)
  }

  @Test func `the rate of the fleet is the worker's own and what the counters say of the others`() {
    var rate = RecordRate()
    rate.addFleet(5000, own: 0, minute: 7, now: 0)
    rate.addFleet(15_000, own: 4000, minute: 7, now: 5_000_000_000)
    #expect(rate.look(after: 1) == .init(average: 1200, latest: 1200))
    // Another minute begins at zero.
    rate.addFleet(100, own: 0, minute: 8, now: 10_000_000_000)
    #expect(rate.look(after: 1).latest == 1200)
  }

  @Test func `a stage begins at its share and ends somewhat below it`() {
    #expect(MemoryStage.ample.next(0.849) == .ample)
    #expect(MemoryStage.ample.next(0.85) == .short)
    #expect(MemoryStage.short.next(0.8) == .short)
    #expect(MemoryStage.short.next(0.799) == .ample)
    #expect(MemoryStage.ample.next(0.95) == .full)
    #expect(MemoryStage.full.next(0.9) == .full)
    #expect(MemoryStage.full.next(0.899) == .short)
    #expect(MemoryStage.full.next(0.5) == .ample)
  }

  @Test func `what is written between two readings counts, too`() {
    var room = RecordRoom()
    #expect(!room.take(1_000_000) && room.stage(from: .ample) == .ample)
    room.beginReading()
    // 500 bytes up to 85 %, 1,500 up to 95 %.
    room.endReading(ServerMemory(used: 8000, maximum: 10_000), servers: 1, share: 1)
    #expect(!room.take(500) && room.stage(from: .ample) == .ample)
    #expect(room.take(1) && room.stage(from: .ample) == .short)
    #expect(room.stage(from: .full) == .full)
    _ = room.take(1000)
    #expect(room.stage(from: .ample) == .full)
    room.beginReading()
    _ = room.take(100)
    room.endReading(ServerMemory(used: 8000, maximum: 10_000), servers: 3, share: 0.5)
    #expect(!room.take(650) && room.take(1))
    #expect(room.isWorthAsking)
    // So close to the next stage Redis is not asked for each record.
    room.beginReading()
    room.endReading(ServerMemory(used: 8450, maximum: 10_000), servers: 1, share: 1)
    #expect(room.take(60) && !room.isWorthAsking && room.stage(from: .ample) == .short)
    room.beginReading()
    room.endReading(ServerMemory(used: 8450), servers: 1, share: 1)
    #expect(!room.take(1_000_000) && room.stage(from: .ample) == .ample)
  }

  private func report(_ stage: MemoryStage, _ used: Int64, lifetime: Duration = .seconds(86_400)) -> MemoryReport {
    MemoryReport(
      stage: stage, server: ServerMemory(used: used * Self.mega / 10, maximum: 40 * Self.mega), lifetime: lifetime,
      longestLifetime: .seconds(86_400))
  }

  @Test func `what is written is said in one line`() {
    #expect(
      report(.ample, 366, lifetime: .seconds(430)).summary
        == "91 % of 40 MB; records of accepted jobs live 7 min instead of 24 h")
    #expect(report(.ample, 40).summary == "10 % of 40 MB")
    #expect(report(.short, 366).summary == "91 % of 40 MB; accepted jobs leave no record")
    #expect(report(.full, 390).summary == "97 % of 40 MB; nothing is written but jobs")
    var unlimited = report(.ample, 15)
    unlimited.server.maximum = nil
    #expect(unlimited.summary == "1.5 MB, no limit")
  }

  @Test func `a missing record has its reason`() {
    #expect(report(.ample, 40).absence == nil)
    #expect(
      report(.ample, 40, lifetime: .seconds(60)).absence?.hasPrefix("at present records of accepted jobs live 60 s")
        == true)
    var short = report(.ample, 40)
    short.lastShort = 1_764_000_000_000
    #expect(short.absence == "Redis was short of memory at 2025-11-24T16:00:00.000Z")
  }

  @Test func `a report survives being written and read`() throws {
    var report = report(.full, 390, lifetime: .seconds(7))
    (report.since, report.lastShort, report.leftOut) = (5, 6, 7)
    let read = try #require(MemoryReport(try JSONValue(parsing: report.object.bytes)))
    #expect(read == report)
    #expect(MemoryReport(try JSONValue(parsing: Array(#"{"stage":"none","usedBytes":1}"#.utf8))) == nil)
    // Whoever writes a heartbeat with nonsense ends no reader.
    let text = #"{"stage":"full","usedBytes":9,"maximumBytes":0,"recordSeconds":0,"longestRecordSeconds":0}"#
    #expect(MemoryReport(try JSONValue(parsing: Array(text.utf8)))?.usage == "9 bytes, no limit")
  }

  @Test func `the worst of a fleet's reports is shown`() {
    var first = report(.short, 350, lifetime: .seconds(60))
    (first.leftOut, first.since) = (3, 1)
    var second = report(.full, 390)
    (second.leftOut, second.since) = (4, 2)
    let worst = MemoryReport.worst([first, second])
    #expect(worst?.stage == .full && worst?.since == 2 && worst?.leftOut == 7 && worst?.lifetime == .seconds(60))
    #expect(MemoryReport.worst([]) == nil)
  }
}
