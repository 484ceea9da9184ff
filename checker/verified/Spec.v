(* What a network computes: sections 1 and 3 of ../FORMAT.md as functions over the rational numbers.

   Whoever believes this file, and the proof assistant that checks the others, need not read the others: the
   theorem [check_sound] of Sound.v says that what the program accepts holds in the sense of [answers] below.
   The order is that of section 3, and its sentences stand here as comments, in quotes.
   What section 3 says and this file does not: how a word becomes a vector, and which number a label has (the reader
   does both); "Means", when a reader refuses a mean that is not dyadic (here a mean is a rational number); and the
   answer "unknown". That tensors have the sizes of their layers is checked by the program, not asked here: an entry
   outside is not read, and one that is missing is 0. *)
From Coq Require Import ZArith QArith Qminmax Qround List.
Import ListNotations.
Open Scope Q_scope.

(* ---------- Section 1: numbers ---------- *)

(* "A dyadic number is mantissa * 2**exponent, both integers." *)
Record dyadic := Dyadic { mantissa : Z; exponent : Z }.
Definition value (d : dyadic) : Q := inject_Z (mantissa d) * 2 ^ exponent d.
Definition zero : dyadic := Dyadic 0 0.
Definition whole (n : nat) : dyadic := Dyadic (Z.of_nat n) 0.

(* ---------- Vectors and matrices ---------- *)

(* A column is a function from the numbers of its coordinates, which start at 0. *)
Definition vector := nat -> Q.

Fixpoint sum (n : nat) (f : nat -> Q) : Q :=
  match n with O => 0 | S k => sum k f + f k end.
Definition sum_over {A} (list : list A) (f : A -> Q) : Q := fold_right (fun x rest => f x + rest) 0 list.

(* W h, where W has D columns. *)
Definition apply (D : nat) (W : nat -> nat -> Q) (h : vector) : vector :=
  fun i => sum D (fun j => W i j * h j).

(* Parameters, as they are stored: a row lists its nonzero entries with their columns; a parameter that is not
   stored is 0. A row of a matrix with a bias is a pair. *)
Definition row := list (nat * dyadic).
Definition entry (r : row) (j : nat) : Q :=
  sum_over r (fun stored => if Nat.eqb (fst stored) j then value (snd stored) else 0).
Definition matrix (M : list row) (i j : nat) : Q := entry (nth i M []) j.
Definition weight (M : list (dyadic * row)) (i j : nat) : Q := entry (snd (nth i M (zero, []))) j.
Definition bias (M : list (dyadic * row)) (i : nat) : Q := value (fst (nth i M (zero, []))).

(* ---------- Section 3: the input ---------- *)

Record head := Head { W_Q : list row; W_K : list row; W_V : list row; W_O : list row }.

(* D is the number of rows that the layer finds. [sources] lists, for each column, those that it is connected to. *)
Inductive layer :=
| Linear (D : nat) (W : list (dyadic * row))
| Embedding (rows : nat) (columns : list (list dyadic)) (position : option (list dyadic))
| Relu (D : nat) (W : list (dyadic * row))
| FeedForward (D : nat) (W1 W2 : list (dyadic * row))
| UniformAttention (D : nat) (WV WO : list row)
| SparseAttention (D : nat) (sources : list (list nat)) (WV WO : list row)
| HardAttention (D : nat) (heads : list head)
| Sum (D : nat).

Record network := Network {
  dimension : nat;                  (* d *)
  longest : nat;                    (* n, "length" *)
  padding : option (list dyadic);
  extra : option (list dyadic);
  positions : bool;
  every : bool;
  labels : Z;                       (* C *)
  layers : list layer }.

(* "If positions is true, the i-th of the n padded columns, i = 0 ... n - 1, gets the coordinate i appended, the
   extra column the coordinate n." *)
Definition numbered (net : network) (i : nat) (x : list dyadic) : list dyadic :=
  if positions net then x ++ [whole i] else x.

(* "Let x_1 ... x_m be the token vectors of one sequence. If padding is null, 0 <= m <= n and the columns are the m
   tokens. Otherwise 1 <= m <= n, the sequence is padded at the front to length n with the vector padding, and if
   extra is not null, that vector is placed before all these columns." (How words become vectors is the reader's.) *)
Definition admitted (net : network) (tokens : list (list dyadic)) : Prop :=
  (length tokens <= longest net)%nat /\ (padding net <> None -> (1 <= length tokens)%nat).
Definition columns (net : network) (tokens : list (list dyadic)) : list (list dyadic) :=
  match padding net with
  | None => tokens
  | Some p =>
      match extra net with None => [] | Some x => [numbered net (longest net) x] end
      ++ map (fun column => numbered net (fst column) (snd column))
             (combine (seq 0 (longest net)) (repeat p (longest net - length tokens) ++ tokens))
  end.

(* "The layers then act on the matrix of these columns": a function from the numbers of the columns. *)
Definition values (list : list (list dyadic)) : nat -> vector :=
  fun c i => value (nth i (nth c list []) zero).

(* ---------- Section 3: the layers ---------- *)

Definition relu (x : Q) : Q := Qmax 0 x.

(* "mean is the average of" the columns in [sources]. *)
Definition mean (sources : list nat) (H : nat -> vector) : vector :=
  fun j => sum_over sources (fun c => H c j) / inject_Z (Z.of_nat (length sources)).
(* W_O W_V mean *)
Definition attend (D : nat) (WV WO : list row) (sources : list nat) (H : nat -> vector) : vector :=
  apply (length WV) (matrix WO) (apply D (matrix WV) (mean sources H)).

(* "All columns l, including this one, with the largest score (W_K h_l) . (W_Q h)"; k is h_l. *)
Definition score (D : nat) (a : head) (h k : vector) : Q :=
  sum (length (W_Q a)) (fun r => apply D (matrix (W_K a)) k r * apply D (matrix (W_Q a)) h r).
Definition with_largest (N : nat) (s : nat -> Q) : list nat :=
  filter (fun l => forallb (fun m => Qle_bool (s m) (s l)) (seq 0 N)) (seq 0 N).

(* Row i of column c after a layer; N is the number of columns before it, and H c is "h". *)
Definition step (N : nat) (l : layer) (H : nat -> vector) (c : nat) : vector := fun i =>
  match l with
  (* "each column h becomes weight h + bias" *)
  | Linear D W => apply D (weight W) (H c) i + bias W i
  (* "a column with coordinate x becomes weight[:, x], plus i position if it has a position i" *)
  | Embedding _ columns position =>
      value (nth i (nth (Z.to_nat (Qfloor (H c 0%nat))) columns []) zero)
      + match position with None => 0 | Some p => H c 1%nat * value (nth i p zero) end
  (* "each column becomes max(0, weight h + bias)" *)
  | Relu D W => relu (apply D (weight W) (H c) i + bias W i)
  (* "each column becomes h + W2 max(0, W1 h + b1) + b2" *)
  | FeedForward D W1 W2 =>
      H c i + apply (length W1) (weight W2) (fun k => relu (apply D (weight W1) (H c) k + bias W1 k)) i
      + bias W2 i
  (* "each column becomes h + W_O W_V mean, where mean is the average of all n' columns" *)
  | UniformAttention D WV WO => H c i + attend D WV WO (seq 0 N) H i
  (* "the same, but mean is the average of the columns that this column is connected to; a column without
     connections is unchanged" *)
  | SparseAttention D sources WV WO =>
      match nth c sources [] with [] => H c i | own => H c i + attend D WV WO own H i end
  (* "each column becomes h + the sum over the heads of W_O W_V mean; mean is the average of all columns l,
     including this one, with the largest score" *)
  | HardAttention D heads =>
      H c i + sum_over heads (fun a =>
        attend D (W_V a) (W_O a) (with_largest N (fun l => score D a (H c) (H l))) H i)
  (* "all columns become one, their sum (0 if there are none)" *)
  | Sum _ => sum N (fun c => H c i)
  end.
Definition columns_after (l : layer) (N : nat) : nat := match l with Sum _ => 1%nat | _ => N end.

(* "Embedding. Every column's x must be an integer with 0 <= x < columns; otherwise the network has no answer for
   the sequence." *)
Definition defined (N : nat) (l : layer) (H : nat -> vector) : Prop :=
  match l with
  | Embedding _ columns _ => forall c, (c < N)%nat ->
      exists x, (x < length columns)%nat /\ H c 0%nat == inject_Z (Z.of_nat x)
  | _ => True
  end.

(* All layers, one after another: the last matrix, its number of columns, and whether each layer is defined. *)
Fixpoint run (N : nat) (ls : list layer) (H : nat -> vector) : nat -> vector :=
  match ls with [] => H | l :: rest => run (columns_after l N) rest (step N l H) end.
Definition columns_left (ls : list layer) (N : nat) : nat := fold_left (fun n l => columns_after l n) ls N.
Fixpoint all_defined (N : nat) (ls : list layer) (H : nat -> vector) : Prop :=
  match ls with
  | [] => True
  | l :: rest => defined N l H /\ all_defined (columns_after l N) rest (step N l H)
  end.

(* ---------- Section 3: the answers ---------- *)

(* "If every is false, there is one answer, from the last column; if it is true, one for each token, from its
   column." The tokens are the last columns; every column has d coordinates, one more with positions, and the columns
   that answer exist. "An output y is the column's single coordinate after the last layer. The answer is label number y
   if y is an integer with 0 <= y < C." No item asks for another answer ("unknown", or no label), so none is here. *)
Definition answers (net : network) (tokens : list (list dyadic)) (ys : list Z) : Prop :=
  let N := length (columns net tokens) in
  let H := values (columns net tokens) in
  let last := columns_left (layers net) N in
  admitted net tokens
  /\ (forall x, In x (columns net tokens) ->
       length x = if positions net then S (dimension net) else dimension net)
  /\ all_defined N (layers net) H
  /\ length ys = (if every net then length tokens else 1%nat)
  /\ (length ys <= last)%nat
  /\ forall k, (k < length ys)%nat ->
       let y := nth k ys 0%Z in
       (0 <= y < labels net)%Z /\ run N (layers net) H (last - length ys + k)%nat 0%nat == inject_Z y.
