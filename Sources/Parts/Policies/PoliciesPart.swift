package import Dashboard
import EventLoop
package import Jobs
package import Operations
package import Program
import Redis
package import Worker

/// Delivery policies, with `MARTLET_POLICY_FILE` and `MARTLET_QUIET_HOURS`: docs/policy.md.
package enum PoliciesPart: Part {
  package static let settings = [quietHours, file]

  static let quietHours = Setting(
    "MARTLET_QUIET_HOURS", in: .worker,
    "quiet hours of [delivery policies](policy.md): default `23:00-08:00`, or `off`",
    example: "23:00-08:00",
    "Hours without notifications of delivery policies, or off.")
  static let file = Setting(
    "MARTLET_POLICY_FILE", in: .worker, as: .path,
    "JSON file with [delivery policies](policy.md#the-policy-file) beside the built-in one",
    example: "/etc/martlet/policy.json",
    "Delivery policies beside the built-in one: a JSON file.")

  package static func classes(_ reader: inout EnvironmentReader) -> (any JobClasses)? { PolicySettings.read(&reader) }

  package static func explainer(_ reader: inout EnvironmentReader) -> (any AddresseeExplainer)? {
    PolicyExplainer(policies: PolicySettings.read(&reader).policies)
  }

  package static func add(to worker: inout WorkerConfiguration, _ reader: inout EnvironmentReader) {
    worker.steps.append { PartSteps(afterDevices: DeliveryPolicies($0)) }
    guard let book = worker.classes as? PolicyBook, reader.text(file) != nil else { return }
    let values = reader.values
    worker.reloads.append { worker, log in
      let served = ServedSetting("policies", book, values, log: log) {
        PolicySettings.read(&$0)
      } use: { [weak worker] in
        worker?.replace(classes: $0)
      }
      return { served.reload() }
    }
  }

  package static func add(to dashboard: inout DashboardConfiguration, _ reader: inout EnvironmentReader) {
    let policies = PolicySettings.read(&reader).policies
    dashboard.pages.append { PoliciesPage(context: $0, policies: policies) }
    dashboard.explainers.append(PolicyExplainer(policies: policies))
  }
}
