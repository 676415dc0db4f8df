import Dashboard
import DashboardSupport
import EventLoop
import Testing
import TestSupport

@testable import Policies

/// `/policies` over HTTP.
@EventLoop
struct PoliciesPageTests {
  private func fixture() async throws -> DashboardFixture {
    try await DashboardFixture(queues: ["push:jobs"]) {
      let policies = PolicyBook.standard.policies
      $0.pages = [{ PoliciesPage(context: $0, policies: policies) }]
      $0.explainers = [PolicyExplainer(policies: policies)]
    }
  }

  @Test func `the policies of an instance say what was used and what would happen`() async throws {
    let fixture = try await fixture()
    let now = Clock.unixMilliseconds
    _ = try await fixture.run(
      "SET", "martlet:{policy}:nyra:home-1",
      #"{"grants":[{"job":"n","class":"safety_critical","at":\#(now - 1000)}]}"#)
    let page = try await fixture.get("/policies?instance=home-1")
    #expect(page.heading == "Policies for home-1")
    #expect(page.body.contains("1 of 20"))
    #expect(try await fixture.get("/policies?instance=%3Cb%3E").status == 400)
    let all = try await fixture.get("/policies")
    #expect(all.heading == "Policies")
    #expect(all.body.contains(#"aria-current="page">Policies"#))
    await fixture.stop()
  }

  @Test func `the devices of an instance lead to its policies`() async throws {
    let fixture = try await fixture()
    let page = try await fixture.get("/devices?instance=home-1")
    #expect(page.body.contains("Limits used by this instance"))
    #expect(page.body.contains("policies?instance=home-1"))
    await fixture.stop()
  }

  @Test func `a state of another type breaks no page`() async throws {
    let fixture = try await fixture()
    _ = try await fixture.run("LPUSH", "martlet:{policy}:nyra:home-1", "x")
    #expect(try await fixture.get("/policies?instance=home-1").status == 200)
    #expect(try await fixture.get("/devices?instance=home-1").status == 200)
    await fixture.stop()
  }
}
