/// What `reprise-lab simulate` can play.
package enum Workloads {
    /// What should hold whatever goes wrong.
    package static let all: [any Workload] = [
        GatesWorkload(), ChannelsWorkload(), ClusterWorkload(), ReceiptsWorkload(),
        TypingWorkload(), FormsWorkload(), FormsWorkload(hasConditions: true), ChainsWorkload(),
        ChainsWorkload(hasSystem: true), ChainSchedulesWorkload(), RemindersWorkload(),
        RemindersWorkload(hasRules: true),
    ]
    /// The case studies' own algorithms, which should not.
    package static let baselines: [any Workload] = Baseline.all.map(\.workload)

    /// The same workloads with machines of ours, which should hold.
    package static let controls: [any Workload] = [
        GatedFormsControl(), CoverageControlWorkload(), GatedRouterControl(),
        EntryChainsControl(), PushedNoticesControl(),
    ]

    /// The workload of this name.
    package static func named(_ name: String) -> (any Workload)? {
        (all + baselines + controls).first { $0.name == name }
    }
}
