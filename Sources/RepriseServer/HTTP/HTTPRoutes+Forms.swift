import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

/// The catalogue of forms of each company: every user of the app may read it, only admins replace
/// it.
extension HTTPRoutes {
    func addForms<Context: RequestContext>(to router: Router<Context>) {
        on(.get, "/v1/forms", in: router, for: .anybody) { try await forms($0) }
        on(.put, "/v1/forms", in: router, for: .admin) { try await setForms($0) }
    }

    private func forms(_ call: HTTPRouteCall) async throws -> Response {
        let company = try Self.company(of: call)
        let known = EntityTags(call.request.headers[values: .ifNoneMatch])
        guard let tag = try await services.accounts.forms.tag(of: company) else {
            services.formsDone(.missing)
            throw HTTPFailure(
                .notFound, "noCatalogue", "This company has no forms.",
                headers: [.cacheControl: "no-cache"])
        }
        if known?.matches(tag, isStrong: false) == true {
            services.formsDone(.unchanged)
            return Response(status: .notModified, headers: Self.headers(tag))
        }
        guard let forms = try await services.accounts.forms.current(of: company) else {
            throw HTTPFailure(.notFound, "noCatalogue", "This company has no forms.")
        }
        services.formsDone(.sent)
        return Response(json: forms.bytes, headers: Self.headers(forms.tag))
    }

    private func setForms(_ call: HTTPRouteCall) async throws -> Response {
        let company = try Self.company(of: call)
        let condition = Self.condition(call.request)
        return try await reading(
            call.request, FormsLimits.catalogueBytes, limits.messageTime
        ) { body in
            try Self.checkType(call.request, isOptional: false)
            let bytes = try await body.all()
            do {
                let catalogue = try FormsCatalogue(bytes)
                return try await set(catalogue, of: company, if: condition)
            } catch let failure as FormsCatalogueFailure {
                services.formsDone(.refused)
                return try Self.answer(failure)
            } catch let error as RepriseError where error.code == .refused {
                services.formsDone(.refused)
                throw HTTPFailure(.preconditionFailed, "preconditionFailed", error.description)
            } catch let error as RepriseError where error.code == .malformed {
                services.formsDone(.refused)
                throw HTTPFailure(.conflict, "conflict", error.description)
            }
        }
    }

    private func set(
        _ catalogue: FormsCatalogue, of company: ChannelName,
        if condition: SetCatalogue.Condition
    ) async throws -> Response {
        let change = try await services.accounts.perform(
            SetCatalogue(catalogue, of: company, if: condition))
        services.formsDone(.stored)
        let answer = CatalogueAnswer(
            company: company.text, version: change.current.version, forms: catalogue.forms.count)
        let isNew = if case .created = change { true } else { false }
        return try Response(
            answer, status: isNew ? .created : .ok, headers: Self.headers(change.current.tag))
    }

    /// An error with the list of problems.
    private static func answer(_ failure: FormsCatalogueFailure) throws -> Response {
        let first = failure.problems.first.map { " Line \($0)" } ?? ""
        let answer = CatalogueProblems(
            error: HTTPFailure(
                .unprocessableContent, "badCatalogue", "The catalogue is not one." + first),
            errors: failure.problems.map(CatalogueProblems.Problem.init))
        return try Response(answer, status: .unprocessableContent)
    }

    /// The company: named by the app, or the default for an app with only one.
    private static func company(of call: HTTPRouteCall) throws -> ChannelName {
        try ChannelName(try call.query("company") ?? "default")
    }

    private static func condition(_ request: Request) -> SetCatalogue.Condition {
        if let tags = EntityTags(request.headers[values: .ifMatch]) {
            return .oneOf(tags.isAny ? nil : tags.strong)
        }
        let others = EntityTags(request.headers[values: .ifNoneMatch])
        return others?.isAny == true ? .absent : .none
    }

    /// Cache, but revalidate each time: a new catalogue takes effect at once.
    private static func headers(_ tag: String) -> HTTPFields {
        [.eTag: tag, .cacheControl: "no-cache"]
    }
}

private struct CatalogueAnswer: Encodable {
    let company: String
    let version: String
    let forms: Int
}

private struct CatalogueProblems: Encodable {
    struct Problem: Encodable {
        let line: Int
        let pointer: String
        let message: String

        init(_ problem: FormsProblem) {
            line = problem.line
            pointer = problem.pointer
            message = problem.message
        }
    }

    let error: HTTPFailure
    let errors: [Problem]
}
