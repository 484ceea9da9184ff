(* The program: it evaluates a network on integers, and says whether a sequence gets its labels. Sound.v proves that
   it is right. Columns are lists; all of them are computed up to the last layer in which columns meet, and from
   there on those of the answers alone. *)
From Coq Require Import ZArith QArith List PeanoNat Bool.
From Byheart Require Import Spec Dyadic.
Import ListNotations.
Open Scope Q_scope.

(* ---------- Rows, columns ---------- *)

(* a plus the inner product of a stored row and a column. *)
Fixpoint dot (r : row) (h : list dyadic) (a : dyadic) : dyadic :=
  match r with [] => a | (j, w) :: rest => dot rest h (dadd a (dmul w (nth j h zero))) end.
Definition affine (W : list (dyadic * row)) (h : list dyadic) : list dyadic :=
  map (fun p => norm (dot (snd p) h (fst p))) W.
Definition times (M : list row) (h : list dyadic) : list dyadic := map (fun r => norm (dot r h zero)) M.
Definition zip (f : dyadic -> dyadic -> dyadic) (a b : list dyadic) : list dyadic :=
  map (fun p => f (fst p) (snd p)) (combine a b).
Definition vadd (a b : list dyadic) : list dyadic := zip (fun x y => norm (dadd x y)) a b.
(* One coordinate of h + W z + b: x is that of h. Where W has no entry in this row, nothing is normalised. *)
Definition lane (z : list dyadic) (x : dyadic) (p : dyadic * row) : dyadic :=
  match snd p with [] => dadd x (fst p) | r => norm (dot r z (dadd x (fst p))) end.
Definition residual (W : list (dyadic * row)) (z h : list dyadic) : list dyadic :=
  map (fun p => lane z (fst p) (snd p)) (combine h W).

(* All results, or none if one is missing. *)
Fixpoint mapM {A B} (f : A -> option B) (l : list A) : option (list B) :=
  match l with
  | [] => Some []
  | x :: r => match f x, mapM f r with Some y, Some s => Some (y :: s) | _, _ => None end
  end.

(* ---------- Layers ---------- *)

(* The sum of some columns, and W_O W_V of it over their number: none if that is no dyadic number. *)
Definition total (D : nat) (cols : list (list dyadic)) (sources : list nat) : list dyadic :=
  fold_right (fun c a => vadd (nth c cols []) a) (repeat zero D) sources.
Definition mix (D : nat) (WV WO : list row) (cols : list (list dyadic)) (sources : list nat) : option (list dyadic) :=
  mapM (fun d => ddiv d (Z.of_nat (length sources))) (times WO (times WV (total D cols sources))).

(* None unless the coordinate is the number of a column of the table; an index becomes a list, so it is small first. *)
Definition embed (T : list (list dyadic)) (p : option (list dyadic)) (h : list dyadic) : option (list dyadic) :=
  let x := nth 0 h zero in
  if dleb zero x && dleb x (whole (length T)) then
    let k := Z.to_nat (Z.shiftl (mantissa x) (exponent x)) in
    if deqb x (whole k) then
      match nth_error T k with
      | None => None
      | Some t => Some (match p with None => t | Some p => vadd t (map (dmul (nth 1 h zero)) p) end)
      end
    else None
  else None.

(* Layers that treat every column by itself. *)
Definition columnwise (l : layer) : bool :=
  match l with Linear _ _ | Relu _ _ | FeedForward _ _ _ => true | _ => false end.
Definition eval_column (l : layer) (h : list dyadic) : list dyadic :=
  match l with
  | Linear _ W => affine W h
  | Relu _ W => map drelu (affine W h)
  | FeedForward _ W1 W2 => residual W2 (map drelu (affine W1 h)) h
  | _ => h
  end.
Definition scores (D : nat) (a : head) (h : list dyadic) (cols : list (list dyadic)) : list dyadic :=
  let q := times (W_Q a) h in
  map (fun k => fold_right dadd zero (zip dmul (times (W_K a) k) q)) cols.
Definition largest (N : nat) (s : list dyadic) : list nat :=
  filter (fun l => forallb (fun m => dleb (nth m s zero) (nth l s zero)) (seq 0 N)) (seq 0 N).

Definition eval_layer (l : layer) (cols : list (list dyadic)) : option (list (list dyadic)) :=
  match l with
  | Embedding _ T p => mapM (embed T p) cols
  | UniformAttention D WV WO =>
      match mix D WV WO cols (seq 0 (length cols)) with
      | None => None
      | Some a => Some (map (fun h => vadd h a) cols)
      end
  | SparseAttention D sources WV WO =>
      mapM (fun c => match nth c sources [] with
                     | [] => Some (nth c cols [])
                     | own => match mix D WV WO cols own with
                              | None => None
                              | Some a => Some (vadd (nth c cols []) a)
                              end
                     end) (seq 0 (length cols))
  | HardAttention D heads =>
      mapM (fun h =>
        match mapM (fun a => mix D (W_V a) (W_O a) cols (largest (length cols) (scores D a h cols))) heads with
        | None => None
        | Some adds => Some (vadd h (fold_right vadd (repeat zero D) adds))
        end) cols
  | Sum D => Some [total D cols (seq 0 (length cols))]
  | _ => Some (map (eval_column l) cols)
  end.
Fixpoint eval (ls : list layer) (cols : list (list dyadic)) : option (list (list dyadic)) :=
  match ls with
  | [] => Some cols
  | l :: rest => match eval_layer l cols with None => None | Some next => eval rest next end
  end.

(* ---------- Sizes, checked once for a network ---------- *)

(* Every stored entry is inside its matrix, and every row of a product exists. *)
Definition narrow (D : nat) (r : row) : bool := forallb (fun p => fst p <? D)%nat r.
Definition narrow' (D : nat) (p : dyadic * row) : bool := narrow D (snd p).
Definition fits (D : nat) (WV WO : list row) : bool :=
  forallb (narrow D) WV && forallb (narrow (length WV)) WO && (length WO =? D)%nat.
(* The number of rows after a layer with D rows and N columns before it; none if its tensors do not fit. *)
Definition size (N D : nat) (l : layer) : option nat :=
  match l with
  | Linear E W | Relu E W => if (E =? D)%nat && forallb (narrow' D) W then Some (length W) else None
  | Embedding R T p =>
      if (match p with None => D =? 1 | Some q => (D =? 2) && (length q =? R) end)%nat
         && forallb (fun t => length t =? R)%nat T then Some R else None
  | FeedForward E W1 W2 =>
      if (E =? D)%nat && forallb (narrow' D) W1 && forallb (narrow' (length W1)) W2 && (length W2 =? D)%nat
      then Some D else None
  | UniformAttention E WV WO => if (E =? D)%nat && fits D WV WO then Some D else None
  | SparseAttention E sources WV WO =>
      if (E =? D)%nat && fits D WV WO && forallb (forallb (fun c => c <? N)%nat) sources then Some D else None
  | HardAttention E heads =>
      if (E =? D)%nat && forallb (fun a => fits D (W_V a) (W_O a) && forallb (narrow D) (W_Q a)
                         && forallb (narrow D) (W_K a) && (length (W_Q a) =? length (W_K a))%nat) heads
      then Some D else None
  | Sum E => if (E =? D)%nat then Some D else None
  end.

(* Layers up to the last one in which columns meet, and the rest. *)
Fixpoint split (ls : list layer) : list layer * list layer :=
  match ls with
  | [] => ([], [])
  | l :: rest => let (a, b) := split rest in
                 if match a with [] => columnwise l | _ => false end then ([], l :: b) else (l :: a, b)
  end.

Fixpoint sizes (N D : nat) (ls : list layer) : option nat :=
  match ls with
  | [] => Some D
  | l :: rest => match size N D l with None => None | Some E => sizes (columns_after l N) E rest end
  end.

(* ---------- A network and its items ---------- *)

Definition item := (list (list dyadic) * list Z)%type.

Definition rows_before (net : network) : nat :=
  if positions net then S (dimension net) else dimension net.
Definition columns_before (net : network) : nat :=
  match padding net, extra net with
  | None, _ => 0%nat
  | Some _, None => longest net
  | Some _, Some _ => S (longest net)
  end.

(* parts are the layers up to the last one in which columns meet, and the rest. *)
Definition right_labels (net : network) (parts : list layer * list layer) (own : item) : bool :=
  let (tokens, ys) := own in
  let cols := columns net tokens in
  (length tokens <=? longest net)%nat
  && match padding net, tokens with Some _, [] => false | _, _ => true end
  && forallb (fun h => length h =? rows_before net)%nat cols
  && (length ys =? (if every net then length tokens else 1))%nat
  && forallb (fun y => (0 <=? y) && (y <? labels net))%Z ys
  && match eval (fst parts) cols with
     | None => false
     | Some met =>
         (length ys <=? length met)%nat
         && match eval (snd parts) (skipn (length met - length ys) met) with
            | None => false
            | Some out => forallb (fun p => deqb (nth 0 (fst p) zero) (Dyadic (snd p) 0)) (combine out ys)
            end
     end.

(* What decides whether an item gets its labels; none if the tensors of the network do not fit together. *)
Definition judge (net : network) : option (item -> bool) :=
  match sizes (columns_before net) (rows_before net) (layers net) with
  | Some 1%nat => Some (right_labels net (split (layers net)))
  | _ => None
  end.
Definition check (net : network) (items : list item) : bool :=
  match judge net with Some accepts => forallb accepts items | None => false end.
