import Foundation
import RepriseCore

/// A step that depends on earlier outputs: one of two branches.
///
/// ```swift
/// When("any") { done in try !done[list].isEmpty } then: {
///     Work("send", Upload.self) { done in .init(files: try done[list]) }
/// } else: {
///     Work("tell", Tell.self) { _ in "There is nothing to send." }
/// }
/// ```
///
/// The decision is made once, when the step begins, and is durable with its tasks before one of
/// them runs: a kill, a retry or an update does not change it.
public struct When: Sendable {
    let task: PlannedTask

    /// Decides between two branches.
    ///
    /// - Parameters:
    ///   - name: of the decision; unique in its chain.
    ///   - condition: cheap, and without effects. An error fails the chain.
    ///   - then: the steps if it holds.
    ///   - else: the steps if it does not.
    public init(
        _ name: String, _ condition: @escaping @Sendable (ChainOutputs) throws -> Bool,
        @ChainBuilder then: () -> [ChainStep], @ChainBuilder else: () -> [ChainStep]
    ) {
        let branches = [then(), `else`()]
        task = PlannedTask(
            name: name,
            choice: PlannedChoice(
                kind: "when",
                steps: { branches[try Decision.read(Bool.self, $0, of: name) ? 0 : 1] },
                branches: branches),
            decision: { try ChainJSON.encode(try condition($0)) })
    }

    /// Adds steps if a condition holds.
    ///
    /// - Parameters:
    ///   - name: of the decision; unique in its chain.
    ///   - condition: cheap, and without effects. An error fails the chain.
    ///   - then: the steps if it holds.
    public init(
        _ name: String, _ condition: @escaping @Sendable (ChainOutputs) throws -> Bool,
        @ChainBuilder then: () -> [ChainStep]
    ) {
        self.init(name, condition, then: then, else: {})
    }
}

/// A loop over earlier outputs: the same steps for each item.
///
/// ```swift
/// Each("files", of: { done in try done[list] }) { file in
///     Work("copy-\(file)", CopyFile.self) { _ in .init(file) }
///     Work("scan-\(file)", ScanFile.self) { _ in .init(file) }
/// }
/// ```
///
/// The first steps of all items run in parallel, then their second steps, and so on, in steps of at
/// most 256 tasks. The items are durable, with the tasks, before one of these runs.
public struct Each<Item: Codable & Sendable>: Sendable {
    let task: PlannedTask

    /// Makes steps of each item.
    ///
    /// - Parameters:
    ///   - name: of the loop; unique in its chain.
    ///   - items: at most 1,000 items and 262,144 bytes as JSON; cheap, and without effects. An
    ///     error fails the chain.
    ///   - body: makes the steps of an item, always the same ones, whose names are unique in the
    ///     chain.
    public init(
        _ name: String, of items: @escaping @Sendable (ChainOutputs) throws -> [Item],
        @ChainBuilder _ body: @escaping @Sendable (Item) throws -> [ChainStep]
    ) {
        task = PlannedTask(
            name: name,
            choice: PlannedChoice(kind: "each") { json in
                let items = try Decision.read([Item].self, json, of: name)
                let rows = try items.map { try body($0).map(\.tasks) }
                return ChainPlan.together(rows).map(ChainStep.init(tasks:))
            },
            decision: { done in
                let items = try items(done)
                guard items.count <= ChainsLimits.items else {
                    throw RepriseError(
                        .tooLarge, "\(name) has \(items.count) items.",
                        remedy: "Give it at most \(ChainsLimits.items).")
                }
                return try ChainJSON.encode(items)
            })
    }
}

/// A chain as a step of another: its steps run in this place.
///
/// ```swift
/// let thumbnails = Subchain("thumbnails", makeThumbnails) { done in .init(files: try done[list]) }
/// thumbnails
/// Work("send", Upload.self) { done in .init(file: try done[in: thumbnails][sheet].file) }
/// ```
///
/// Its tasks are tasks of the outer chain, named `thumbnails/…`, and so are their failures, effects
/// and limits. Its input is durable before one of them runs. It need not be registered by itself.
public struct Subchain<Input: Codable & Sendable>: Sendable {
    /// Its name, unique in the outer chain.
    public let name: String
    let task: PlannedTask

    /// Makes a chain a step.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 bytes, unique in the outer chain.
    ///   - chain: its definition; at most 8 chains in one another.
    ///   - input: makes its input from earlier outputs when the step begins; cheap, and without
    ///     effects. An error fails the outer chain.
    public init(
        _ name: String, _ chain: Chain<Input>,
        _ input: @escaping @Sendable (ChainOutputs) throws -> Input
    ) {
        self.name = name
        task = PlannedTask(
            name: name,
            choice: PlannedChoice(kind: "chain \(chain.name)") { json in
                try chain.steps(for: json).map { $0.within(name) }
            },
            decision: { try ChainJSON.encode(try input($0)) })
    }
}

enum Decision {
    static func read<T: Decodable>(_ type: T.Type, _ json: [UInt8], of name: String) throws -> T {
        do {
            return try ChainJSON.decode(type, from: json)
        } catch {
            throw RepriseError(
                .malformed, "The decision of \(name) was another one's, of another type.",
                cause: error)
        }
    }
}

extension ChainStep {
    func within(_ subchain: String) -> ChainStep {
        ChainStep(tasks: tasks.map { $0.within(subchain) })
    }
}
