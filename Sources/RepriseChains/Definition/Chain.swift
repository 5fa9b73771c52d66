import Foundation
import RepriseCore

/// Steps of background work in order, each with one or more parallel tasks.
///
/// ```swift
/// let importPhotos = Chain<ImportInput>(
///     "import-photos", version: 2, compatibleWith: [1]
/// ) { input in
///     let list = Work("list", ListFiles.self) { _ in .init(folder: input.folder) }
///     list
///     Parallel {
///         for file in input.files {
///             Work("copy-\(file)", CopyFile.self) { _ in .init(from: file) }
///         }
///     }
///     WaitFor(for: .session)
///     Work("send", Upload.self) { done in .init(files: try done[list].files) }.retry(attempts: 5)
/// }
/// ```
///
/// The body is evaluated when a chain is started, and again in each process that continues it: it
/// must make the same tasks of the same input. A hash identifies its shape; a chain with another
/// hash is suspended (`parked`), unless ``version`` is declared compatible with the one that it was
/// started with. Then tasks are matched by name.
public struct Chain<Input: Codable & Sendable>: ChainDefinition {
    /// Its name, the same in every version of the app.
    public let name: String
    /// Which version of the body this is.
    public let version: Int
    /// The versions whose chains this one can continue.
    public let compatibleWith: Set<Int>
    private let body: @Sendable (Input) throws -> [ChainStep]
    private var text: (@Sendable (Input, ChainProgress) -> ChainNotification?)?

    /// Defines a chain.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 bytes, the same in every version of the app.
    ///   - version: raise it when the body changes.
    ///   - compatibleWith: the versions whose chains this one can go on with.
    ///   - body: makes the steps of an input, always the same ones; cheap, and without effects.
    public init(
        _ name: String, version: Int = 1, compatibleWith: Set<Int> = [],
        @ChainBuilder _ body: @escaping @Sendable (Input) throws -> [ChainStep]
    ) {
        self.name = name
        self.version = version
        self.compatibleWith = compatibleWith
        self.body = body
    }

    /// Shows each chain as a notification: its progress, at most once a second, and its result in
    /// the same place.
    ///
    /// A result is shown at least once, also after a kill, while the client runs. The configuration
    /// has a notification centre.
    ///
    /// - Parameter text: makes the texts at a moment, cheaply; nil: no notification.
    /// - Returns: the definition with notifications.
    public func notification(
        _ text:
            @escaping @Sendable (_ input: Input, _ progress: ChainProgress) ->
            ChainNotification?
    ) -> Self {
        var copy = self
        copy.text = text
        return copy
    }

    /// Whether its chains are shown as notifications.
    public var notifies: Bool { text != nil }

    /// The notification of a chain at a moment; nil: none.
    public func notification(of json: [UInt8], _ progress: ChainProgress) -> ChainNotification? {
        guard let text, let input = try? ChainJSON.decode(Input.self, from: json) else {
            return nil
        }
        return text(input, progress)
    }

    /// Evaluates the body.
    ///
    /// - Parameter json: the input.
    /// - Returns: the checked plan.
    /// - Throws: `RepriseError` `.malformed`, `.tooLarge`; what the body throws.
    public func plan(for json: [UInt8]) throws -> ChainPlan {
        try ChainPlan(name: name, steps: steps(for: json))
    }

    func steps(for json: [UInt8]) throws -> [ChainStep] {
        let input: Input
        do {
            input = try JSONDecoder().decode(Input.self, from: Data(json))
        } catch {
            throw RepriseError(
                .malformed, "The input is not what the chain \(name) takes.", cause: error)
        }
        return try body(input)
    }
}

/// A ``Chain`` of any input.
public protocol ChainDefinition: Sendable {
    /// Its name, the same in every version of the app.
    var name: String { get }
    /// Which version of the body this is.
    var version: Int { get }
    /// The versions whose chains this one can continue.
    var compatibleWith: Set<Int> { get }

    /// Evaluates the body for an input.
    ///
    /// - Parameter json: the input.
    /// - Returns: the checked plan.
    /// - Throws: `RepriseError` `.malformed`, `.tooLarge`; what the body throws.
    func plan(for json: [UInt8]) throws -> ChainPlan

    /// Whether its chains are shown as notifications.
    var notifies: Bool { get }

    /// The notification of a chain at a moment.
    ///
    /// - Parameters:
    ///   - json: the input.
    ///   - progress: how far it is, or how it ended.
    /// - Returns: nil: none.
    func notification(of json: [UInt8], _ progress: ChainProgress) -> ChainNotification?
}

extension ChainDefinition {
    /// Without notifications.
    public var notifies: Bool { false }

    /// Without notifications.
    public func notification(of json: [UInt8], _ progress: ChainProgress) -> ChainNotification? {
        nil
    }
}

/// One step of a chain: tasks that run in parallel.
public struct ChainStep: Sendable {
    let tasks: [PlannedTask]
}

/// Collects the steps of a chain, or the tasks of one step.
@resultBuilder public enum ChainBuilder {
    /// A task is a step.
    public static func buildExpression<W>(_ work: Work<W>) -> [ChainStep] {
        [ChainStep(tasks: [work.task])]
    }

    /// Tasks that run in parallel are a step.
    public static func buildExpression(_ together: Parallel) -> [ChainStep] {
        together.tasks.isEmpty ? [] : [ChainStep(tasks: together.tasks)]
    }

    /// A wait is a step.
    public static func buildExpression(_ wait: WaitFor) -> [ChainStep] {
        [ChainStep(tasks: [wait.task])]
    }

    /// A decision is a step, and followed by what it decides on.
    public static func buildExpression(_ when: When) -> [ChainStep] {
        [ChainStep(tasks: [when.task])]
    }

    /// The items of a loop are a step, and followed by their steps.
    public static func buildExpression<Item>(_ each: Each<Item>) -> [ChainStep] {
        [ChainStep(tasks: [each.task])]
    }

    /// The input of a chain is a step, and followed by its steps.
    public static func buildExpression<Input>(_ subchain: Subchain<Input>) -> [ChainStep] {
        [ChainStep(tasks: [subchain.task])]
    }

    /// Steps that a function has made.
    public static func buildExpression(_ steps: [ChainStep]) -> [ChainStep] { steps }

    /// One after the other.
    public static func buildBlock(_ parts: [ChainStep]...) -> [ChainStep] { parts.flatMap { $0 } }

    /// `if` without `else`.
    public static func buildOptional(_ part: [ChainStep]?) -> [ChainStep] { part ?? [] }

    /// `if`.
    public static func buildEither(first part: [ChainStep]) -> [ChainStep] { part }

    /// `else`.
    public static func buildEither(second part: [ChainStep]) -> [ChainStep] { part }

    /// `for`.
    public static func buildArray(_ parts: [[ChainStep]]) -> [ChainStep] { parts.flatMap { $0 } }

    /// `if #available`.
    public static func buildLimitedAvailability(_ part: [ChainStep]) -> [ChainStep] { part }
}

/// Tasks that run in parallel: at most 256.
///
/// What several decide on, as ``When``, ``Each`` and ``Subchain`` do, runs in parallel, too: their
/// first steps, then their second ones.
public struct Parallel: Sendable {
    let tasks: [PlannedTask]

    /// Collects tasks; the step after them begins when all have succeeded.
    ///
    /// - Parameter body: the tasks.
    public init(@ChainBuilder _ body: () -> [ChainStep]) {
        tasks = body().flatMap(\.tasks)
    }
}
