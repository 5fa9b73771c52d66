/// The workloads that `reprise simulate` knows.
package enum Workloads {
    package static let all: [any Workload] = []

    /// The workload of this name.
    package static func named(_ name: String) -> (any Workload)? {
        all.first { $0.name == name }
    }
}
