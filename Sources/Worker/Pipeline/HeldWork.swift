import EventLoop

/// Jobs and pushes, each with its permit, that wait for the lease to be confirmed.
@EventLoop
struct HeldWork {
  private(set) var deliveries: [Delivery] = []
  private(set) var drafts: [PushDraft] = []

  mutating func add(_ deliveries: [Delivery]) { self.deliveries += deliveries }

  mutating func add(_ draft: PushDraft) { drafts.append(draft) }

  mutating func takeAll() -> HeldWork {
    defer { self = HeldWork() }
    return self
  }

  mutating func takeDrafts() -> [PushDraft] {
    defer { drafts = [] }
    return drafts
  }
}
