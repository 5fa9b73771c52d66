package import RepriseCore
package import Testing

/// Expects a ``RepriseError`` of this code, whatever its sentence.
@discardableResult
package func expectError<R>(
    _ code: RepriseError.Code, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
) -> RepriseError? {
    do {
        _ = try body()
    } catch {
        return judge(error, code, comment(), sourceLocation)
    }
    return judge(nil, code, comment(), sourceLocation)
}

/// Expects a ``RepriseError`` of this code, whatever its sentence.
@discardableResult
package func expectError<R>(
    _ code: RepriseError.Code, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> R
) async -> RepriseError? {
    do {
        _ = try await body()
    } catch {
        return judge(error, code, comment(), sourceLocation)
    }
    return judge(nil, code, comment(), sourceLocation)
}

private func judge(
    _ error: (any Error)?, _ code: RepriseError.Code, _ comment: Comment?,
    _ sourceLocation: SourceLocation
) -> RepriseError? {
    let found = error as? RepriseError
    if found?.code != code {
        let what = error.map { "\($0)" } ?? "nothing was thrown"
        Issue.record(
            "expected the error \(code), but \(what). \(comment?.rawValue ?? "")",
            sourceLocation: sourceLocation)
    }
    return found
}
