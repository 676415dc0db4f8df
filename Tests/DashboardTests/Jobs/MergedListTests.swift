import DashboardSupport
import Testing

@testable import Dashboard
@testable import Operations
@testable import Queue

/// Lists of several sorted sets in one.
struct MergedListTests {
  private func job(_ score: Int64, _ skip: Int = 0) -> BrowsedJob {
    BrowsedJob(
      position: SortedPosition(score: score, skip: skip), digest: "", attempts: 0,
      nonce: nil, job: [], jobBytes: 0, burial: nil)
  }

  private func page(_ scores: [Int64], next: Int64? = nil) -> BrowsedPage {
    BrowsedPage(
      jobs: scores.map { job($0) }, examined: scores.count, next: next.map { SortedPosition(score: $0) })
  }

  @Test func `entries are in one order, and the next part begins behind the last one of each set`() {
    let start = MergedList.Position(count: 2)
    let list = MergedList([page([9, 5, 3]), page([8, 7, 1])], from: start, isDescending: true, limit: 4)
    #expect(list.entries.map { $0.job.position?.milliseconds } == [9, 8, 7, 5])
    #expect(list.entries.map(\.source) == [0, 1, 1, 0])
    #expect(list.next?.text == "5,1~7,1")
  }

  @Test func `a set of which nothing is shown begins where it was`() {
    let start = MergedList.Position("*~4,2", count: 2)!
    let list = MergedList([page([9, 8]), page([4])], from: start, isDescending: true, limit: 2)
    #expect(list.next?.text == "-~4,2")
  }

  @Test func `without anything left there is no next part`() {
    let list = MergedList([page([1]), nil], from: MergedList.Position("*~-", count: 2)!, isDescending: false, limit: 9)
    #expect(list.next == nil)
    #expect(list.entries.count == 1)
  }

  @Test func `beyond the place where the search of one set ended, nothing of the others is shown`() {
    let start = MergedList.Position(count: 2)
    let list = MergedList([page([9], next: 6), page([8, 5])], from: start, isDescending: true, limit: 9)
    #expect(list.entries.map { $0.job.position?.milliseconds } == [9, 8])
    #expect(list.next?.text == "6,0~8,1")
  }

  @Test(arguments: ["", "*", "*~*~*", "*~x", "*~1", "~", "*~-1,-1"])
  func `a forged cursor is refused`(text: String) {
    #expect(MergedList.Position(text, count: 2) == nil)
  }
}
