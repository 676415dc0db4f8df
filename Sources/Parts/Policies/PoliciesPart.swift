package import Dashboard
import EventLoop
package import Jobs
package import Operations
package import Program
import Redis
package import Worker

/// Delivery policies, with `MARTLET_POLICY_FILE` and `MARTLET_QUIET_HOURS`: docs/policy.md.
package enum PoliciesPart: Part {
  package static let settings: Set = ["POLICY_FILE", "QUIET_HOURS"]

  package static func classes(_ reader: inout EnvironmentReader) -> (any JobClasses)? { PolicySettings.read(&reader) }

  package static func explainer(_ reader: inout EnvironmentReader) -> (any AddresseeExplainer)? {
    PolicyExplainer(policies: PolicySettings.read(&reader).policies)
  }

  package static func add(to worker: inout WorkerConfiguration, _ reader: inout EnvironmentReader) {
    worker.steps.append { PartSteps(afterDevices: DeliveryPolicies($0)) }
    guard let book = worker.classes as? PolicyBook, reader.string(PolicySettings.fileName) != nil else { return }
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
