"""The operators of circuits, one idea to a file."""

from deltic.circuit.operators.aggregate import Aggregate, AggregateCall, AggregateDelta
from deltic.circuit.operators.base import Clocked, Operator
from deltic.circuit.operators.custom import Apply, Maintain, MaintainDelta
from deltic.circuit.operators.distinct import Distinct
from deltic.circuit.operators.fixpoint import BundleRelation, Feedback, Fixpoint, FixpointDelta, Import
from deltic.circuit.operators.join import Antijoin, AntijoinDelta, Join, JoinDelta, Semijoin
from deltic.circuit.operators.linear import Filter, FlatMap, Keep, Map, Negate, Plus
from deltic.circuit.operators.nesting import Bracket, Call
from deltic.circuit.operators.order import Order, Top, TopDelta
from deltic.circuit.operators.over import Frame, Over, OverDelta, Unit, WindowCall
from deltic.circuit.operators.source import Constant, Sink, Source
from deltic.circuit.operators.streams import BackEdge, Close, Delay, Differentiate, DistinctDelta, Integrate
from deltic.circuit.operators.window import Window, WindowDelta
