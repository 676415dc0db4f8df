import Testing
import TestSupport

@testable import Chaos

struct OwnershipTimelineTests {
  @Test func `a change takes effect between its request and its confirmation`() {
    var timeline = OwnershipTimeline()
    timeline.append(.register, "a", "d", requested: 10, confirmed: 20)
    timeline.append(.register, "b", "d", requested: 30, confirmed: 40)
    #expect(!timeline.mayHaveOwned("a", "d", in: 0...9))
    #expect(timeline.mayHaveOwned("a", "d", in: 0...10))
    #expect(timeline.mayHaveOwned("a", "d", in: 40...50))
    #expect(!timeline.mayHaveOwned("a", "d", in: 41...50))
    #expect(!timeline.mayHaveOwned("b", "d", in: 0...29))
    #expect(timeline.mayHaveOwned("b", "d", in: 30...30))
    #expect(!timeline.mayHaveOwned("a", "other", in: 0...100))
    #expect(timeline.ownedThroughout("a", "d", 20...29))
    #expect(!timeline.ownedThroughout("a", "d", 19...29))
    #expect(!timeline.ownedThroughout("a", "d", 20...30))
    #expect(timeline.ownedThroughout("b", "d", 40...1000))
  }

  @Test func `a change that was not confirmed may have happened or not until the next one is`() {
    var timeline = OwnershipTimeline()
    timeline.append(.register, "a", "d", requested: 10, confirmed: 20)
    timeline.append(.register, "b", "d", requested: 30, confirmed: nil)
    timeline.append(.register, "c", "d", requested: 50, confirmed: 60)
    for user in ["a", "b"] as [HardName] {
      #expect(timeline.mayHaveOwned(user, "d", in: 45...46))
      #expect(!timeline.mayHaveOwned(user, "d", in: 61...70))
      #expect(!timeline.ownedThroughout(user, "d", 45...46))
    }
  }

  @Test func `that the former owner unregisters a device takes it from nobody else`() {
    var timeline = OwnershipTimeline()
    timeline.append(.register, "a", "d", requested: 10, confirmed: 20)
    timeline.append(.register, "b", "d", requested: 30, confirmed: nil)
    timeline.append(.unregister, "a", "d", requested: 50, confirmed: 60)
    #expect(!timeline.mayHaveOwned("a", "d", in: 61...70))
    #expect(timeline.mayHaveOwned("b", "d", in: 61...70))
    #expect(!timeline.ownedThroughout("b", "d", 61...70))
    timeline.append(.unregister, "b", "d", requested: 80, confirmed: 90)
    #expect(timeline.mayHaveOwned("b", "d", in: 85...86))
    #expect(!timeline.mayHaveOwned("b", "d", in: 91...99))
  }

  @Test func `a device that its owner unregistered belongs to nobody`() {
    var timeline = OwnershipTimeline()
    timeline.append(.register, "a", "d", requested: 10, confirmed: 20)
    timeline.append(.unregister, "a", "d", requested: 30, confirmed: 40)
    #expect(timeline.ownedThroughout("a", "d", 20...29))
    #expect(!timeline.ownedThroughout("a", "d", 20...30))
    #expect(timeline.mayHaveOwned("a", "d", in: 40...50))
    #expect(!timeline.mayHaveOwned("a", "d", in: 41...50))
  }

  @Test func `a device may return to its owner`() {
    var timeline = OwnershipTimeline()
    timeline.append(.register, "a", "d", requested: 10, confirmed: 20)
    timeline.append(.register, "b", "d", requested: 30, confirmed: 40)
    timeline.append(.register, "a", "d", requested: 50, confirmed: 60)
    #expect(!timeline.mayHaveOwned("a", "d", in: 41...49))
    #expect(timeline.ownedThroughout("a", "d", 60...70))
    #expect(!timeline.ownedThroughout("a", "d", 25...65))
  }
}
